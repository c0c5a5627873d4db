r"""A covariance of rank one: it stays so, and moves along one curve in a time of its own.

.. math:: \Sigma = \ell\ell^T, \qquad \ell(\tau) = e^{\tau V}\ell_0, \qquad
          \frac{d\tau}{dt} = b(\ell(\tau))

with :math:`b = \ell^T A\ell` (softmax), :math:`2\ell^T A\ell/(1 + 2\ell^T N\ell)` (L2) and
:math:`m(\ell^T A\ell/\varepsilon)/\varepsilon` (Sinkhorn). Where b = 0 the law rests; where
:math:`\int_0^\infty d\tau/b` is finite it blows up at that time.

Source: spec 2.2 for softmax; the same two lines for the others.
"""

__all__ = ["RankOne", "RankOneClock"]

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from vlasov._shapes import Covariance
from vlasov.errors import InvalidValue, NotConverged
from vlasov.gaussian import Gaussian
from vlasov.reduction.cases import ClosedForm, Times
from vlasov.reduction.closed_forms import past_the_end

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(16)
_PANELS = 2_000
# over one panel the rate varies by no more, so that 16 nodes integrate its inverse to rounding
_SMALLEST_SHARE = 0.6
_LONGEST = 0.25
_NEVER = 1e15
# time in the last quarter of the panels over that in the quarter before: 1/2 where it sums up as
# 1/tau^2, 1 where it goes on
_STEADY = 0.75


@dataclass(frozen=True, eq=False)
class RankOneClock:
    """The time t at which the curve is at tau, by Gauss-Legendre panels, and its inverse.

    Attributes:
        value: the map V, ``(d, d)``.
        start: the vector l_0, ``(d,)``, with b(l_0) not 0.
        rate: the function b of vectors ``(..., d)``.
    """

    value: Tensor
    start: Tensor
    rate: Callable[[Tensor], Tensor]

    def at(self, tau: float | Tensor) -> Tensor:
        """The vectors ``e^{tau V} l_0`` for times tau of any shape."""
        times = torch.as_tensor(tau, dtype=self.value.dtype, device=self.value.device)
        return torch.linalg.matrix_exp(times[..., None, None] * self.value) @ self.start

    def tau(self, t: float) -> float:
        """Where the curve is at time t; where it comes to rest it stays.

        Raises:
            InvalidValue: at or past the blow-up.
            NotConverged: if the panels run out, which takes very many turns of the curve.
        """
        passed = 0.0
        for tau, width, panel in self._panels(math.copysign(1.0, t)):
            if passed + panel >= abs(t):
                return tau + self._inside(tau, width, abs(t) - passed)
            if panel <= self._eps * passed:
                raise past_the_end(t, math.copysign(passed, t))
            passed += panel
        raise self._slow(passed)

    def blow_up_time(self) -> float:
        """The time at which tau reaches infinity; infinite where it never does.

        Raises:
            NotConverged: where the panels run out before it is seen which of the two holds.
        """
        passed: list[float] = [0.0]
        for _, _, panel in self._panels(1.0):
            if panel <= self._eps * passed[-1]:
                return passed[-1]
            passed.append(passed[-1] + panel)
            if not passed[-1] < _NEVER * passed[1]:
                return math.inf
        half, quarter = passed[len(passed) // 2], passed[len(passed) * 3 // 4]
        if passed[-1] - quarter > _STEADY * (quarter - half):
            return math.inf
        raise self._slow(passed[-1])

    def rest(self) -> Tensor | None:
        """The vector at which the law comes to rest, or is after very long; None elsewhere."""
        passed, first = 0.0, 0.0
        for tau, width, panel in self._panels(1.0):
            first = first or panel
            passed += panel
            if width == 0 or not passed < _NEVER * first:
                return self.at(tau)
            if panel <= self._eps * passed:
                return None
        return None

    def _slow(self, passed: float) -> NotConverged:
        return NotConverged(
            f"A curve of rank one was followed over {_PANELS} panels but has only reached "
            f"t = {passed:.6g}; ask for an earlier time, or integrate the equation."
        )

    @property
    def _eps(self) -> float:
        return torch.finfo(self.value.dtype).eps / 8

    def _rates(self, tau: float, width: float) -> Tensor:
        """The rate at the nodes of a panel."""
        return self.rate(self.at(torch.from_numpy(tau + width * (_NODES + 1) / 2)))

    def _panels(self, way: float) -> Iterator[tuple[float, float, float]]:
        """Panels (tau, width, time) from 0 on; at rest one of width 0 that takes for ever."""
        way *= math.copysign(1.0, float(self.rate(self.start)))
        longest = _LONGEST / float(torch.linalg.matrix_norm(self.value, 2))
        tau, width = 0.0, longest
        for _ in range(_PANELS):
            width = min(2 * width, longest)
            rates = self._rates(tau, way * width)
            while not _even(rates):
                width /= 2
                if width <= torch.finfo(self.value.dtype).eps * max(abs(tau), longest):
                    yield tau, 0.0, math.inf
                    return
                rates = self._rates(tau, way * width)
            yield tau, way * width, abs(_time(rates, width))
            tau += way * width

    def _inside(self, tau: float, width: float, wanted: float) -> float:
        """The part of a panel that takes the time `wanted`, by Newton steps."""
        if width == 0:
            return 0.0
        part = width * wanted / abs(_time(self._rates(tau, width), width))
        for _ in range(8):
            rate = float(self.rate(self.at(tau + part)))
            passed = abs(_time(self._rates(tau, part), part))
            part -= (passed - wanted) * abs(rate) * math.copysign(1.0, width)
        return part


def _even(rates: Tensor) -> bool:
    """Whether the rate varies so little over a panel that the nodes resolve it."""
    sizes = rates.abs()
    return bool(sizes.min() >= _SMALLEST_SHARE * sizes.max() > 0)


def _time(rates: Tensor, width: float) -> float:
    """The time spent in a panel, from the rates at its nodes."""
    return float(width / 2 * (torch.from_numpy(_WEIGHTS).to(rates) / rates).sum())


@dataclass(frozen=True, eq=False)
class RankOne(ClosedForm):
    """A law on a line that keeps moving.

    Attributes:
        clock: the curve of the vector l_0 and its time.
        start: the law, on the line of l_0.
        share: what its mean and factor are in units of l_0, ``(1 + r,)``.
        drift: the matrix that moves the mean on its own; None where it moves as the curve does.
    """

    case: ClassVar[str] = "the law has rank one"
    clock: RankOneClock
    start: Gaussian
    share: Tensor
    drift: Tensor | None

    def at(self, t: Times) -> Gaussian:
        """The vector on its curve at each time."""
        taus = [self.clock.tau(float(time)) for time in t.flatten()]
        lines = self.clock.at(torch.tensor(taus, dtype=t.dtype, device=t.device).reshape(t.shape))
        moved = lines.unsqueeze(-1) * self.share
        if self.drift is None:
            return Gaussian.of_factor(moved[..., 0], moved[..., 1:])
        flow = torch.linalg.matrix_exp(t[..., None, None] * self.drift)
        return Gaussian.of_factor(flow @ self.start.mean, moved[..., 1:])

    def blow_up_time(self) -> Times:
        """The integral of ``dtau / b`` where it is finite."""
        return torch.full_like(self.start.mean[..., 0], self.clock.blow_up_time())

    def limit(self) -> Covariance:
        """The covariance where the curve comes to rest."""
        end = self.clock.rest()
        if end is None:
            raise InvalidValue(
                "A limit exists where the curve of a rank-one law comes to rest but this one goes "
                "on; ask for its blow-up time or for a finite time."
            )
        kept = end.unsqueeze(-1) * self.share[1:]
        return kept @ kept.mT
