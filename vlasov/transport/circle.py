r"""The distance on the circle, by the best place to cut it: exact for every p and all weights.

.. math:: W_p^p = \min_\alpha \int_0^1 |F^{-1}(t) - G^{-1}(t + \alpha)|^p \, dt

with positions in turns and quantile functions continued by :math:`F^{-1}(t+1) = F^{-1}(t) + 1`.
The integral is convex and piecewise linear in alpha.

Source: Delon, Salomon and Sobolevski, SIAM J. Appl. Math. 70 (2010).
"""

__all__ = ["circle_power", "turns"]

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from vlasov.errors import NotConverged
from vlasov.transport.certificate import TOLERANCE
from vlasov.transport.checks import Atoms
from vlasov.transport.convex_search import Probe, minimise
from vlasov.transport.line import merged

_REACH = 1.5  # turns; a whole turn off, every pair is farther apart than before
_ROUNDING = 1e-8  # turns^p below which the gap is relative to this, not to the power


def turns(x: Float[Tensor, "*batch n 2"]) -> Float[Tensor, "*batch n"]:
    """The positions of points of the plane, seen from the origin, in [0, 1) turns."""
    return torch.remainder(torch.atan2(x[..., 1], x[..., 0]) / (2 * math.pi), 1.0)


def circle_power(a: Atoms, b: Atoms, p: float) -> tuple[Float[Tensor, ""], float]:
    """The p-th power between points ``(n, 1)`` in turns, and the relative gap of the search.

    Gradients flow into positions and weights at the best cut.

    Raises:
        NotConverged: if the gap stays open.
    """
    circles = _Circles(*_sorted(a), *_sorted(b), p)
    with torch.no_grad():
        probe, bound = minimise(circles.probe, -_REACH, _REACH)
    gap = (probe.value - bound) / max(probe.value, _ROUNDING)
    if abs(gap) > TOLERANCE:
        raise NotConverged(
            f"The cut of a circle needs a relative gap of {TOLERANCE:g} but reached {gap:.3g}. "
            "Merge tokens that nearly coincide."
        )
    return circles.value(probe.at), max(gap, 0.0)


def _sorted(side: Atoms) -> tuple[Tensor, Tensor]:
    order = side.points[:, 0].detach().argsort()
    ends = side.weights[order].cumsum(0)
    return side.points[order, 0], torch.cat((ends[:-1], ends.new_ones(1)))


@dataclass(frozen=True, eq=False)
class _Circles:
    """Two measures: sorted positions, and the cumulative weights at which they end."""

    x: Tensor
    ends_x: Tensor
    y: Tensor
    ends_y: Tensor
    p: float

    def turned(self, shift: float) -> tuple[Tensor, Tensor]:
        """The second quantile function on [shift, shift + 1]: its values, and where they end.

        The atom that holds `shift` appears at both ends, so there is one end less than values.
        """
        whole = math.floor(shift)
        part = shift - whole
        first = int(torch.searchsorted(self.ends_y[:-1].detach().contiguous(), part, right=True))
        values = torch.cat((self.y[first:] + whole, self.y[: first + 1] + (whole + 1)))
        ends = torch.cat((self.ends_y[first:] - part, self.ends_y[:first] + (1 - part)))
        return values, ends

    def value(self, shift: float) -> Tensor:
        """The integral for this cut."""
        values, ends = self.turned(shift)
        i, j, mass = merged(self.ends_x[:-1], ends)
        return (mass * self.cost(self.x[i] - values[j])).sum()

    def probe(self, shift: float) -> Probe:
        """Value and slopes: as the cut moves on, every jump of the second function moves back."""
        values, ends = self.turned(shift)
        x = torch.cat((self.x, self.x[:1] + 1))
        slopes = []
        for right in (True, False):
            beside = x[torch.searchsorted(self.ends_x, ends, right=right).clamp(max=len(self.x))]
            rise = self.cost(beside - values[1:]) - self.cost(beside - values[:-1])
            slopes.append(float(rise.sum()))
        return Probe(shift, float(self.value(shift)), left=slopes[0], right=slopes[1])

    def cost(self, gap: Tensor) -> Tensor:
        """The p-th power of a length."""
        return gap.abs() if self.p == 1 else gap.abs().pow(self.p)
