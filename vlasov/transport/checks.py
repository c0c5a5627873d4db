"""The door of every distance between clouds: two measures of positive atoms in one space."""

__all__ = ["Atoms", "Pair", "checked_pair", "require_exponent"]

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from vlasov._numbers import require_finite
from vlasov.cloud import Cloud
from vlasov.errors import InvalidValue, NotFinite, ShapeMismatch

_LARGEST = 1e150  # coordinates whose squares are still finite


@dataclass(frozen=True, eq=False)
class Atoms:
    """The atoms of positive weight, in fp64 on the CPU, with the gradients of the cloud.

    `equal` says that all weights are the same number, 1/n.
    """

    points: Float[Tensor, "n d"]
    weights: Float[Tensor, " n"]
    equal: bool

    @property
    def n(self) -> int:
        """Their number."""
        return len(self.points)

    def at(self, points: Float[Tensor, "n k"]) -> "Atoms":
        """The same weights at other points."""
        return Atoms(points, self.weights, self.equal)


@dataclass(frozen=True, eq=False)
class Pair:
    """Two measures in one space and the exponent of their distance.

    Points are in units of `scale`, a power of two, so that no p-th power underflows.
    """

    a: Atoms
    b: Atoms
    p: float
    scale: float = 1.0

    @property
    def matched(self) -> bool:
        """Whether both have the same number of atoms, all of one weight."""
        return self.a.equal and self.b.equal and self.a.n == self.b.n

    def scaled(self) -> "Pair":
        """The same measures with the largest difference of coordinates between 1 and 2."""
        x, y = self.a.points.detach(), self.b.points.detach()
        highest, lowest = torch.maximum(x.amax(0), y.amax(0)), torch.minimum(x.amin(0), y.amin(0))
        spread = float((highest - lowest).max())
        scale = 2.0 ** (math.frexp(spread)[1] - 1) if spread > 0 else 1.0
        a, b = (side.at(side.points / scale) for side in (self.a, self.b))
        return Pair(a, b, self.p, scale * self.scale)


def checked_pair(a: Cloud, b: Cloud, p: float | int) -> Pair:
    """The two clouds as measures.

    Raises:
        InvalidValue: for an exponent below 1 or infinite.
        ShapeMismatch: for a batch of clouds, or clouds of different widths.
        NotFinite: for NaN, infinity, or coordinates beyond 1e150.
    """
    require_exponent(p)
    for cloud in (a, b):
        if cloud.batch_shape:
            raise ShapeMismatch(
                f"A distance needs one cloud on each side but got a batch {cloud.batch_shape}. "
                "Pick one with `cloud.member(i)`, or loop over the batch."
            )
    if a.d != b.d:
        raise ShapeMismatch(
            f"A distance needs clouds of one width but got d = {a.d} and d = {b.d}. "
            "Project both to one space first."
        )
    return Pair(_atoms(a), _atoms(b), float(p))


def require_exponent(p: float | int) -> None:
    """Refuse exponents for which W_p is no distance or has no p-th power."""
    # nothing checks types outside the tests
    if not (isinstance(p, float | int) and math.isfinite(p) and p >= 1):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidValue(
            f"W_p needs a finite p of at least 1 but got p = {p!r}. Use p=1 or p=2."
        )


def _atoms(cloud: Cloud) -> Atoms:
    x = cloud.points.to(device="cpu", dtype=torch.float64)
    log_w = cloud.log_weights.to(device="cpu", dtype=torch.float64)
    if not bool((log_w == log_w[0]).all()):
        held = (log_w.detach() - log_w.detach().max()).exp() > 0
        log_w, x = log_w[held], x[held]
    _require_squares(x.detach())
    equal = bool((log_w == log_w[0]).all())
    if equal and not log_w.requires_grad:
        return Atoms(x, torch.full_like(log_w, 1 / len(log_w)), equal)
    return Atoms(x, log_w.softmax(-1), equal)


def _require_squares(x: Tensor) -> None:
    require_finite(x, name="Points")
    largest = float(x.abs().max())
    if largest > _LARGEST:
        raise NotFinite(
            f"A distance needs coordinates up to {_LARGEST:g} but one is {largest:.3g}, whose "
            "square overflows. Rescale both clouds, or stop the run before it blows up."
        )
