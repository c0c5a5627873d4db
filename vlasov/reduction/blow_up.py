r"""Growth of a covariance: when it blows up, or that it diverges without doing so.

.. math:: r = \frac{d}{dt} \log \mathrm{tr}\,\Sigma, \qquad
          \frac1r = \frac{t^* - t}{p} + O\bigl((t^* - t)^2\bigr)
          \text{ where } \Sigma \sim (t^* - t)^{-p}

The time :math:`t^*` is where 1/r, met at the last steps, extrapolates to zero. Growth is a blow-up
if the times at which the trace passes equal factors accumulate, and exponential if they are
equally spaced. Source: spec sections 2.2, 5.1.
"""

__all__ = ["Growth"]

import copy
import math

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from vlasov.integration import Event, State
from vlasov.pde.gaussian_field import GaussianField

_LEVELS = (0.5, 0.75, 1.0)  # of the logarithm of the threshold: 1e4, 1e6 and 1e8 of 1e8
_NEAR = 0.375  # of it: from where on rates are kept
_ACCUMULATE = 0.5  # gap of the last passages over the one before: 100^(-1/p) at a blow-up
_LEAP = 0.25  # growth in one step, as a part of it, that no resolved exponential shows
_KEPT = 4

PerSystem = Float[Tensor, "*batch"]


class Growth:
    """Watches the trace of the covariance along a run.

    Under a variant that lets even one token blow up (linear attention) it is the trace of the
    second moment: there the mean grows together with the covariance.
    """

    def __init__(
        self, field: GaussianField, initial: Tensor, span: tuple[float, float], threshold: float
    ) -> None:
        self._field = field
        self._top = math.log(threshold)
        start, until = span
        scale = self._size(initial.detach())
        if field.diffusion is not None:
            scale = scale.clamp_min(2 * field.diffusion * field.start.d * abs(until - start))
        self._log_scale = torch.where(scale == 0, 1.0, scale).log().double()
        self._t = torch.full_like(self._log_scale, start)
        self._log = self._grown(initial.detach())
        blank = torch.full_like(self._log, torch.nan)
        self._leap = torch.zeros_like(blank)
        self._passed = [blank] * len(_LEVELS)
        self._times = self._lives = torch.stack([blank] * _KEPT)

    def of_systems(self, index: Int[Tensor, " some"], field: GaussianField) -> "Growth":
        """What is known of some systems, with the field of these alone."""
        chosen = copy.copy(self)
        chosen._field = field
        for name in ("_log_scale", "_t", "_log", "_leap"):
            setattr(chosen, name, getattr(self, name)[index])
        chosen._passed = [when[index] for when in self._passed]
        chosen._times, chosen._lives = self._times[:, index], self._lives[:, index]
        return chosen

    def event(self) -> Event:
        """The end of a run: the trace has grown by the threshold."""
        return Event("growth", lambda t, x: self._top - self._grown(x), located=False)

    def look(self, state: State) -> None:
        """Take note of an accepted step."""
        x = state.x.detach()
        t = torch.as_tensor(state.t, dtype=torch.float64, device=x.device).expand(self._t.shape)
        grown, moved = self._grown(x), t != self._t
        near = moved & (grown > _NEAR * self._top)
        if bool(near.any()):
            self._passed = [
                self._passing(t, grown, level=part * self._top, known=known)
                for part, known in zip(_LEVELS, self._passed, strict=True)
            ]
            self._times = _pushed(self._times, t, near)
            self._lives = _pushed(self._lives, self._life(state.t, x), near)
        self._leap = torch.where(near, torch.maximum(self._leap, grown - self._log), self._leap)
        self._t, self._log = t, grown

    def _passing(self, t: Tensor, grown: Tensor, *, level: float, known: Tensor) -> Tensor:
        """The times of passage, with those of the systems that passed in this step."""
        crossed = (self._log < level) & (grown >= level)
        part = (level - self._log) / (grown - self._log)
        return torch.where(crossed, self._t + part * (t - self._t), known)

    def accumulates(self) -> Bool[Tensor, "*batch"]:
        """Whether the passages come faster and faster, system by system."""
        first, second, third = self._passed
        faster = (third - second).abs() < _ACCUMULATE * (second - first).abs()
        return faster | (self._leap > _LEAP * self._top)

    def end(self) -> PerSystem:
        """The time to which 1/r extrapolates; the last time seen where it does not."""
        last = torch.where(torch.isnan(self._times[-1]), self._t, self._times[-1])
        best = last
        # Neville's scheme at 1/r = 0, by as many of the last steps as are known.
        column = list(self._times)
        for width in range(1, _KEPT):
            column = [
                (self._lives[i + width] * column[i] - self._lives[i] * column[i + 1])
                / (self._lives[i + width] - self._lives[i])
                for i in range(_KEPT - width)
            ]
            ahead = (column[-1] - last).abs() <= 2 * self._reach()
            best = torch.where(ahead, column[-1], best)
        return best

    def _reach(self) -> Tensor:
        """How far the linear extrapolation goes, at least to rounding."""
        lives, times = self._lives, self._times
        slope = (lives[-1] - lives[-2]) / (times[-1] - times[-2])
        return (lives[-1] / slope).abs() + torch.finfo(times.dtype).eps * times[-1].abs()

    def _grown(self, x: Tensor) -> Tensor:
        return self._size(x).double().log() - self._log_scale

    def _size(self, x: Tensor) -> Tensor:
        trace = self._field.trace(x)
        if self._field.attention.bounded:
            return trace
        return trace + self._field.law(x).mean.square().sum(-1)

    def _life(self, t: float | Tensor, x: Tensor) -> Tensor:
        """1/r. The size is of second degree, so a symmetric difference is its derivative."""
        slope = self._field(t, x).detach()
        axes = (-2, -1)
        far = x.square().sum(axes).sqrt() / slope.square().sum(axes).sqrt()
        ahead, behind = (x + sign * far[..., None, None] * slope for sign in (1, -1))
        rise = (self._size(ahead) - self._size(behind)) / (2 * far)
        return (self._size(x) / rise).double()


def _pushed(kept: Tensor, new: Tensor, where: Tensor) -> Tensor:
    return torch.where(where, torch.cat([kept[1:], new.unsqueeze(0)]), kept)
