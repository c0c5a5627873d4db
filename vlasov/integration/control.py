r"""Choosing the next step size from the error of the last one.

.. math:: h' = 0.9\, h\, r_n^{-0.7/q}\, r_{n-1}^{0.4/q}, \qquad
          r = \text{error} / \text{tolerance} \sim h^q
"""

__all__ = ["Controller"]

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from vlasov.integration.stepping import AdaptiveStep

_SAFETY = 0.9
_SHRINK, _GROW = 0.2, 10.0
_LEAST = 1e-4  # a lucky zero error must not make the next step small (PI memory)


@dataclass(frozen=True)
class Controller:
    """A proportional-integral controller; sizes and ratios are one per system.

    Source: K. Gustafsson, ACM Trans. Math. Softw. 17 (1991) 533-554; Hairer, Wanner, Solving ODEs
        II, IV.2.
    """

    step: AdaptiveStep
    error_order: int
    system_ndim: int
    magnitude: Callable[[Tensor], Tensor] = torch.abs

    def ratio(self, error: Tensor, *, before: Tensor, after: Tensor) -> Tensor:
        """Error over tolerance, root mean square over each system; infinite if not finite."""
        before, after = before.detach(), after.detach()
        ratio = self.rms(error.detach() / self.scale(before, after))
        finite = torch.isfinite(ratio) & self._finite(after)
        return torch.where(finite, ratio, torch.inf).to("cpu", torch.float64)

    def scale(self, before: Tensor, after: Tensor) -> Tensor:
        """The tolerance of every coordinate of a step between two states."""
        size = torch.maximum(self.magnitude(before), self.magnitude(after))
        tiny = torch.finfo(size.dtype).tiny  # keeps 0/0 out where atol is 0
        return self.step.atol + tiny + self.step.rtol * size

    def measure(self, x: Tensor) -> Tensor:
        """Root mean square over each system, as the step sizes are kept: float64 on the CPU."""
        return self.rms(x.detach()).to("cpu", torch.float64)

    def rms(self, x: Tensor) -> Tensor:
        """Root mean square over each system."""
        axes = tuple(range(-self.system_ndim, 0))
        return x.square().mean(axes).sqrt() if axes else x.abs()

    def _finite(self, x: Tensor) -> Tensor:
        """Whether all of a system is; its square may overflow before it does."""
        axes = tuple(range(-self.system_ndim, 0))
        return torch.isfinite(x.abs().amax(axes) if axes else x)

    def next_size(self, h: Tensor, *, ratio: Tensor, previous: Tensor) -> Tensor:
        """The next size after steps of size `h`; a rejected step looks at its own error alone."""
        q = self.error_order
        proportional = torch.where(
            ratio <= 1, ratio ** (-0.7 / q) * previous ** (0.4 / q), ratio ** (-1 / q)
        )
        return self.capped(h * (_SAFETY * proportional).clamp(_SHRINK, _GROW))

    def remembered(self, ratio: Tensor) -> Tensor:
        """What the next step hears of this one's error."""
        return ratio.clamp_min(_LEAST)

    def capped(self, size: Tensor) -> Tensor:
        """A size within the largest one allowed."""
        return size if self.step.largest is None else size.clamp_max(self.step.largest)
