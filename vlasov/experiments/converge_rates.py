r"""The rate at which an error should fall with n.

.. math:: E(n) \sim n^{r}, \qquad r = -\tfrac12 \text{ for moments}, \qquad
          r = -\tfrac1m \text{ for } W_p,\ p < m/2

with m the dimension of the support. Where logarithms come in, or bound and typical law differ, the
rate is an interval.

Source: Fournier and Guillin, Probab. Theory Relat. Fields 162 (2015), Theorem 1; on the line
Bobkov and Ledoux, Mem. Amer. Math. Soc. 261 (2019), Theorems 3.2 and 5.1; spec section 5.
"""

__all__ = ["Rate", "distance_rate", "moment_rate"]

import math
from collections.abc import Sequence
from dataclasses import dataclass

_FINITE = 0.07  # of measured slopes of W_p in m >= 3 from the asymptotic rate; n from 50 to 1600


@dataclass(frozen=True)
class Rate:
    """Slopes from `steepest` to `flattest`, and why in words."""

    steepest: float
    flattest: float
    why: str

    def verdict(self, low: float, high: float) -> str:
        """What an interval of confidence for the slope says of the rate."""
        if low > self.flattest:
            return "does not hold: the error falls more slowly"
        if high < self.steepest:
            return "holds as a bound: the error falls faster"
        return "holds"


def moment_rate() -> Rate:
    """That of means over independent tokens, in any dimension."""
    return Rate(-0.5, -0.5, "n^(-1/2)")


def distance_rate(p: float | int, dimension: int, *, gaussian: bool, ns: Sequence[int]) -> Rate:
    """That of W_p between a sample and its law, or two samples."""
    if dimension == 1:
        return _on_line(p, gaussian=gaussian, ns=ns)
    logs = sum(1 / math.log(n) for n in ns) / len(ns)
    critical = dimension / 2
    if p < critical:
        r = -1 / dimension
        return Rate(r - _FINITE, r + _FINITE, f"n^(-1/{dimension}) as n grows")
    if p == critical:
        slack = 0.0 if dimension == 2 else _FINITE
        bound = f"at most n^(-1/{2 * p:g}) (log n)^(1/{p:g})"
        return Rate(-1 / (2 * p) - slack, -1 / (2 * p) + logs / p + slack, bound)
    return Rate(-1 / dimension, -1 / (2 * p), f"n^(-1/{dimension}) to the bound n^(-1/{2 * p:g})")


def _on_line(p: float | int, *, gaussian: bool, ns: Sequence[int]) -> Rate:
    if not gaussian or p < 2:
        return Rate(-0.5, -0.5, "n^(-1/2)")
    if p == 2:
        # d log sqrt(log log n / n) / d log n
        slack = sum(0.5 / (math.log(n) * math.log(math.log(n))) for n in ns) / len(ns)
        return Rate(-0.5, -0.5 + slack, "(log log n / n)^(1/2)")
    return Rate(-0.5, -1 / p, f"n^(-1/{p:g}) up to logarithms")
