"""The normal law N(mean, cov) at the door: widths that agree, a covariance that is one."""

__all__ = ["Normal", "normal"]

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from vlasov._numbers import Numbers, floating, require_finite
from vlasov.errors import NotPositive, ShapeMismatch


@dataclass(frozen=True, eq=False)
class Normal:
    """A normal law by its mean and two roots of its covariance.

    The symmetric root serves for draws: unlike eigenvectors it has no free signs. The factor has
    one column for each direction in which the law extends.
    """

    mean: Float[Tensor, " d"]
    root: Float[Tensor, "d d"]
    factor: Float[Tensor, "d r"]

    @property
    def d(self) -> int:
        """Width."""
        return self.mean.shape[-1]


def normal(mean: Numbers | None, cov: Numbers | None, *, d: int | None = None) -> Normal:
    """The law N(mean, cov) in fp64 on the CPU; the defaults are 0 and the identity.

    Raises:
        ShapeMismatch: if no width is given, or two that differ.
        NotFinite: for NaN or infinity.
        NotPositive: for a covariance that is not symmetric or has a negative eigenvalue.
    """
    centre = None if mean is None else torch.atleast_1d(floating(mean, name="The mean"))
    spread = None if cov is None else _matrix(floating(cov, name="The covariance"))
    width = _width(centre, spread, d)
    centre = torch.zeros(width) if centre is None else centre
    spread = torch.eye(width, dtype=torch.float64) if spread is None else spread
    require_finite(centre, name="The mean")
    require_finite(spread, name="The covariance")
    return _factored(centre.detach().cpu().double(), spread.detach().cpu())


def _matrix(cov: Tensor) -> Tensor:
    return cov[None, None] if cov.dim() == 0 else cov


def _width(mean: Tensor | None, cov: Tensor | None, d: int | None) -> int:
    found = {} if d is None else {"d": (d,)}
    found |= {} if mean is None else {"mean": tuple(mean.shape)}
    found |= {} if cov is None else {"cov": tuple(cov.shape)}
    widths = {shape[-1] for shape in found.values()}
    square = cov is None or (cov.dim() == 2 and cov.shape[0] == cov.shape[1])
    if len(widths) != 1 or not square or (mean is not None and mean.dim() != 1):
        listed = ", ".join(f"{name} {shape}" for name, shape in found.items()) or "nothing"
        raise ShapeMismatch(
            f"A normal law needs a mean of shape (d,) and a cov of shape (d, d) but got {listed}. "
            "Give one of the two, or the width `d`, and make them agree."
        )
    return widths.pop()


def _factored(mean: Tensor, cov: Tensor) -> Normal:
    rounding = max(1e-10, 10 * torch.finfo(cov.dtype).eps)
    cov = cov.double()
    gap, size = float((cov - cov.mT).abs().max()), float(cov.abs().max())
    if gap > rounding * size:
        raise NotPositive(
            f"A covariance must be symmetric but two mirrored entries differ by {gap:.3g}. "
            "Pass (cov + cov.T) / 2 if the difference is noise."
        )
    values, vectors = torch.linalg.eigh((cov + cov.mT) / 2)
    smallest, largest = float(values[0]), float(values.abs().max())
    if smallest < -rounding * largest:
        raise NotPositive(
            f"A covariance has no negative eigenvalue but the smallest found is {smallest:.6g}. "
            "Check its entries, or add a multiple of the identity."
        )
    active = values > 10 * len(values) * torch.finfo(torch.float64).eps * largest
    deviation = torch.where(active, values, 0).sqrt()
    root = (vectors * deviation) @ vectors.mT
    return Normal(mean, root, (vectors * deviation)[:, active])
