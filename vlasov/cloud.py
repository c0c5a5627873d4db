r"""A token cloud is a weighted measure.

.. math:: \mu = \sum_i w_i\, \delta_{x_i}, \qquad w_i \ge 0, \quad \sum_i w_i = 1
"""

__all__ = ["Cloud"]

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch
from jaxtyping import Float
from torch import Tensor

from vlasov import _measure, cloud_files, sampling
from vlasov._numbers import Numbers
from vlasov._shapes import LogWeights, Points, Positions
from vlasov.errors import ShapeMismatch

_DOUBLE = torch.float64


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Cloud:
    """Points ``(*batch, n, d)`` with weights that sum to one and, where order matters, positions.

    Weights and positions are held in fp32 at least: above 256 bf16 skips integers.

    Example:
        >>> Cloud([[0.0, 1.0], [2.0, 3.0]]).weights.tolist()
        [0.5, 0.5]
    """

    points: Points
    log_weights: LogWeights
    positions: Positions | None

    def __init__(
        self, points: Numbers, weights: Numbers | None = None, positions: Numbers | None = None
    ) -> None:
        """Weights and positions are ``(*batch, n)`` or ``(n,)``; the default weight is 1/n.

        Raises:
            ShapeMismatch: for points without both axes, no point, or lengths that do not match.
            NotFinite: for NaN or infinity anywhere.
            InvalidValue: for a negative weight or weights that do not sum to one.
        """
        x = _measure.checked_points(points)
        given = None if positions is None else _measure.checked_positions(positions, x)
        self._set(x, _measure.log_of_weights(weights, x), given)

    def _set(self, points: Tensor, log_weights: Tensor, positions: Tensor | None) -> "Cloud":
        object.__setattr__(self, "points", points)
        object.__setattr__(self, "log_weights", log_weights)
        object.__setattr__(self, "positions", positions)
        return self

    @classmethod
    def _trusted(cls, points: Tensor, log_weights: Tensor, positions: Tensor | None) -> "Cloud":
        return object.__new__(cls)._set(points, log_weights, positions)

    @classmethod
    def from_log_weights(
        cls, points: Points, log_weights: LogWeights, positions: Positions | None = None
    ) -> "Cloud":
        """A cloud of states already known: points are not checked, weights are kept bit for bit.

        Raises:
            InvalidValue: if the weights do not sum to one.
        """
        _measure.require_unit_sum(log_weights.exp())
        return cls._trusted(points, log_weights, positions)

    @property
    def weights(self) -> Float[Tensor, "*batch n"]:
        """Weights, which sum to one."""
        return self.log_weights.exp()

    @property
    def n(self) -> int:
        """Number of tokens."""
        return self.points.shape[-2]

    @property
    def d(self) -> int:
        """Width of a token."""
        return self.points.shape[-1]

    @property
    def batch_shape(self) -> tuple[int, ...]:
        """Shape of the batch of clouds; ``()`` for one cloud."""
        return tuple(self.points.shape[:-2])

    def __repr__(self) -> str:
        x = self.points
        return f"Cloud(shape={tuple(x.shape)}, dtype={x.dtype}, device={x.device})"

    def with_points(self, x: Points) -> "Cloud":
        """The same weights and positions at other points, whose values are not checked."""
        if x.shape != self.points.shape:
            kept, found = tuple(self.points.shape), tuple(x.shape)
            raise ShapeMismatch(f"Points must be {kept} but are {found}. Build a new `Cloud`.")
        return self._trusted(x, self.log_weights, self.positions)

    def with_positions(self, positions: Numbers) -> "Cloud":
        """The same tokens in the order of these positions."""
        given = _measure.checked_positions(positions, self.points)
        return self._trusted(self.points, self.log_weights, given)

    def to(
        self, *, device: torch.device | str | None = None, dtype: torch.dtype | None = None
    ) -> "Cloud":
        """The cloud on another device or in another precision."""
        x = self.points.to(device=device, dtype=dtype)
        place = (x.device, _measure.wide(x.dtype))
        positions = None if self.positions is None else self.positions.to(*place)
        return self._trusted(x, self.log_weights.to(*place), positions)

    def split(self, i: int) -> "Cloud":
        """Token `i` as two of half its weight: itself in place, its twin at the end."""
        order = [*range(self.n), range(self.n)[i]]
        log_w = self.log_weights[..., order]
        log_w[..., [order[-1], -1]] -= math.log(2)
        positions = None if self.positions is None else self.positions[..., order]
        return self._trusted(self.points[..., order, :], log_w, positions)

    def member(self, index: int | tuple[int, ...]) -> "Cloud":
        """One cloud of a batch."""
        index = (index,) if isinstance(index, int) else index
        if len(index) != len(self.batch_shape):
            raise ShapeMismatch(
                f"A batch of shape {self.batch_shape} needs one index per axis but got {index}. "
                "Pass a tuple of that length."
            )
        positions = None if self.positions is None else self.positions[index]
        return self._trusted(self.points[index], self.log_weights[index], positions)

    @classmethod
    def gaussian(  # noqa: PLR0913 - a law, a seed and where the numbers live
        cls,
        n: int,
        mean: Numbers | None = None,
        cov: Numbers | None = None,
        *,
        d: int | None = None,
        seed: int = 0,
        dtype: torch.dtype = _DOUBLE,
        device: torch.device | str = "cpu",
    ) -> "Cloud":
        """Independent draws of N(mean, cov), the same on every device; see `sampling.gaussian`."""
        return cls(sampling.gaussian(n, mean, cov, d=d, seed=seed)).to(dtype=dtype, device=device)

    @classmethod
    def sphere(
        cls, n: int, d: int, *, radius: float = 1.0, seed: int = 0, dtype: torch.dtype = _DOUBLE
    ) -> "Cloud":
        """Independent uniform draws on the sphere of R^d."""
        return cls(sampling.sphere(n, d, radius=radius, seed=seed)).to(dtype=dtype)

    @classmethod
    def ball(
        cls, n: int, d: int, *, radius: float = 1.0, seed: int = 0, dtype: torch.dtype = _DOUBLE
    ) -> "Cloud":
        """Independent uniform draws in the ball of R^d."""
        return cls(sampling.ball(n, d, radius=radius, seed=seed)).to(dtype=dtype)

    @classmethod
    def mixture(
        cls, n: int, means: Numbers, covs: Numbers, weights: Numbers | None = None, seed: int = 0
    ) -> "Cloud":
        """Independent draws of a mixture of Gaussians, component after component."""
        return cls(sampling.mixture(n, means, covs, weights=weights, seed=seed))

    @classmethod
    def hermite(
        cls, nodes: int, mean: Numbers | None = None, cov: Numbers | None = None
    ) -> "Cloud":
        """Gauss-Hermite product nodes: the moments of N(mean, cov) up to degree 2 nodes - 1."""
        return cls.from_log_weights(*sampling.hermite(nodes, mean, cov))

    @classmethod
    def quantiles(cls, n: int, mean: float = 0.0, std: float = 1.0) -> "Cloud":
        """The (i - 1/2)/n quantiles of N(mean, std^2) on the line."""
        return cls(sampling.quantiles(n, mean, std))

    @classmethod
    def quantiles_of(cls, n: int, quantile_function: Callable[[Tensor], Tensor]) -> "Cloud":
        """The (i - 1/2)/n quantiles of any law on the line."""
        return cls(sampling.quantiles_of(n, quantile_function))

    @classmethod
    def load(cls, path: str | Path) -> "Cloud":
        """The cloud of a file; the suffix names the format, see `vlasov.cloud_files`."""
        return cls(*cloud_files.read(Path(path)))

    def save(self, path: str | Path) -> Path:
        """Write the cloud to exactly this path, which is returned."""
        return cloud_files.write(Path(path), (self.points, self.weights, self.positions))
