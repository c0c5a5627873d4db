r"""Gaussian laws and the affine maps that carry them.

.. math:: N(\alpha, \Sigma), \quad \Sigma = L L^T, \qquad
          x \mapsto M x + b: \; N(\alpha, L L^T) \mapsto N(M\alpha + b, (ML)(ML)^T)

A covariance is pushed through its factor, so it stays positive and keeps its rank.
"""

__all__ = ["Affine", "Gaussian"]

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from vlasov._numbers import Numbers, floating, require_finite
from vlasov._roots import symmetric_root
from vlasov._shapes import Covariance, Matrix
from vlasov.errors import NotPositive, ShapeMismatch

_ROUNDING = 1e-10


@dataclass(frozen=True, eq=False)
class Affine:
    """The map ``x -> matrix x + offset``, or a batch of them.

    Example:
        >>> Affine(torch.eye(2), torch.ones(2))(torch.zeros(1, 2)).tolist()
        [[1.0, 1.0]]
    """

    matrix: Matrix
    offset: Float[Tensor, "*batch rows"]

    def __call__(self, x: Float[Tensor, "*#batch n columns"]) -> Float[Tensor, "*batch n rows"]:
        """The images of points ``(*batch, n, columns)``."""
        return x @ self.matrix.mT + self.offset.unsqueeze(-2)

    def after(self, first: "Affine") -> "Affine":
        """The map that applies `first`, then this one."""
        moved = (self.matrix @ first.offset.unsqueeze(-1)).squeeze(-1)
        return Affine(self.matrix @ first.matrix, moved + self.offset)


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Gaussian:
    """The law N(mean, cov), or a batch of them: ``(*batch, d)`` and ``(*batch, d, d)``.

    A singular covariance, zero included, is a law on the range of its factor. Integers and lists
    become fp64; tensors keep precision, device and gradient.

    Example:
        >>> Gaussian([0.0, 1.0], [[1.0, 0.0], [0.0, 0.0]]).rank
        tensor(1)
    """

    mean: Float[Tensor, "*batch d"]
    factor: Float[Tensor, "*batch d r"]

    def __init__(self, mean: Numbers, cov: Numbers) -> None:
        """A number for either is a law on the line.

        Raises:
            ShapeMismatch: for widths that differ.
            NotFinite: for NaN or infinity.
            NotPositive: for a covariance that is not symmetric or has a negative eigenvalue.
        """
        centre = torch.atleast_1d(floating(mean, name="The mean"))
        spread = floating(cov, name="The covariance")
        spread = spread[None, None] if spread.dim() == 0 else spread
        _require_fit(centre, spread)
        require_finite(centre, name="The mean")
        require_finite(spread, name="The covariance")
        dtype = torch.promote_types(centre.dtype, spread.dtype)
        centre, spread = torch.broadcast_tensors(
            centre.to(dtype).unsqueeze(-1), spread.to(device=centre.device, dtype=dtype)
        )
        self._set(centre[..., 0], _root(spread))

    def _set(self, mean: Tensor, factor: Tensor) -> "Gaussian":
        object.__setattr__(self, "mean", mean)
        object.__setattr__(self, "factor", factor)
        return self

    @classmethod
    def of_factor(
        cls, mean: Float[Tensor, "*batch d"], factor: Float[Tensor, "*batch d r"]
    ) -> "Gaussian":
        """The law with covariance ``factor factor^T``; values are not checked."""
        return object.__new__(cls)._set(mean, factor)

    @property
    def cov(self) -> Covariance:
        """The covariance."""
        return self.factor @ self.factor.mT

    @property
    def d(self) -> int:
        """Width."""
        return self.mean.shape[-1]

    @property
    def batch_shape(self) -> tuple[int, ...]:
        """Shape of the batch of laws; ``()`` for one."""
        return tuple(self.mean.shape[:-1])

    @property
    def rank(self) -> Tensor:
        """The number of directions in which the law extends, relative to the widest."""
        widths = torch.linalg.svdvals(self.factor.detach())
        floor = 10 * self.d * torch.finfo(widths.dtype).eps * widths[..., :1]
        return (widths > floor).sum(-1)

    def __repr__(self) -> str:
        where = f"dtype={self.mean.dtype}, device={self.mean.device}"
        return f"Gaussian(shape={tuple(self.mean.shape)}, {where})"

    def push(self, flow: Affine) -> "Gaussian":
        """The law of ``flow(x)`` for x of this law."""
        mean = (flow.matrix @ self.mean.unsqueeze(-1)).squeeze(-1) + flow.offset
        return Gaussian.of_factor(mean, flow.matrix @ self.factor)

    def to(
        self, *, device: torch.device | str | None = None, dtype: torch.dtype | None = None
    ) -> "Gaussian":
        """The law on another device or in another precision."""
        mean = self.mean.to(device=device, dtype=dtype)
        return Gaussian.of_factor(mean, self.factor.to(mean))


def _require_fit(mean: Tensor, cov: Tensor) -> None:
    d = mean.shape[-1]
    if cov.dim() < 2 or tuple(cov.shape[-2:]) != (d, d) or d == 0:
        raise ShapeMismatch(
            f"A Gaussian needs a mean of shape (*batch, d) and a cov of shape (*batch, d, d) but "
            f"got {tuple(mean.shape)} and {tuple(cov.shape)}; make the widths agree."
        )
    try:
        torch.broadcast_shapes(mean.shape[:-1], cov.shape[:-2])
    except RuntimeError:
        raise ShapeMismatch(
            f"Batches of means {tuple(mean.shape[:-1])} and covariances {tuple(cov.shape[:-2])} "
            "do not fit; give as many of one as of the other, or a single one."
        ) from None


def _root(cov: Tensor) -> Tensor:
    """A factor L with L L^T = cov: the symmetric root, without the noise of null directions."""
    size = cov.detach().abs().amax((-2, -1), keepdim=True)
    rounding = max(_ROUNDING, 10 * torch.finfo(cov.dtype).eps)
    if bool(((cov - cov.mT).detach().abs() > rounding * size).any()):
        gap = float((cov - cov.mT).detach().abs().max())
        raise NotPositive(
            f"A covariance must be symmetric but two mirrored entries differ by {gap:.3g}. "
            "Pass (cov + cov.T) / 2 if the difference is noise."
        )
    lowest = torch.linalg.eigvalsh((cov / 2 + cov.mT / 2).detach())[..., :1]
    if bool((lowest.unsqueeze(-1) < -rounding * size).any()):
        raise NotPositive(
            f"A covariance has no negative eigenvalue but the smallest found is "
            f"{float(lowest.min()):.6g}. Check its entries, or add a multiple of the identity."
        )
    return symmetric_root(cov)
