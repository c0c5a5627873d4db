r"""The learning rate as a function of the step alone, so that a resumed run cannot lose its place.

.. math:: r_s = r \min\Bigl(1, \frac{s + 1}{w}\Bigr), \qquad
          r_s = \frac r2 \Bigl(1 + \cos\frac{\pi (s - w)}{S - w}\Bigr) \quad (s \ge w)
"""

__all__ = ["Schedule"]

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Schedule:
    """Linear warm-up over `warmup` steps, then half a cosine down to 0 at step `horizon`.

    Behind the horizon the rate stays 0. Without horizon it stays at the peak. A warm-up that
    outlasts the horizon is cut off there.

    Example:
        >>> [Schedule(1.0, warmup=2, horizon=4)(step) for step in range(6)]
        [0.5, 1.0, 1.0, 0.5, 0.0, 0.0]
    """

    peak: float
    warmup: int
    horizon: int | None = None

    def __call__(self, step: int) -> float:
        """The rate of a step, counted from 0."""
        if self.horizon is not None and step >= self.horizon:
            return 0.0
        if step < self.warmup:
            return self.peak * (step + 1) / self.warmup
        if self.horizon is None:
            return self.peak
        share = (step - self.warmup) / (self.horizon - self.warmup)
        return self.peak * (1 + math.cos(math.pi * share)) / 2
