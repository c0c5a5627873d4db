r"""The slope of the logarithm of an error against log n, with an interval of confidence.

.. math:: \log \Bigl(\frac1S\sum_{k=1}^{S} e_{n,k}^{\,p}\Bigr)^{1/p} \approx a + r \log n

by least squares, each n with the weight S_n: the variance of its logarithm is of order 1/S_n. The
interval is the 95 % percentile bootstrap over seeds, drawn anew for every n.
"""

__all__ = ["Slope", "fitted_slope"]

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from vlasov.errors import InvalidValue

_RESAMPLES = 2000


@dataclass(frozen=True, eq=False)
class Slope:
    """A fitted power law.

    Attributes:
        slope: the exponent r.
        intercept: the constant a.
        low: lower end of the interval of the slope.
        high: its upper end.
        ns: numbers of tokens in the fit.
        errors: the mean of the p-th powers, to the power 1/p, for each.
        lows: lower ends of the intervals of these errors.
        highs: their upper ends.
    """

    slope: float
    intercept: float
    low: float
    high: float
    ns: tuple[int, ...]
    errors: tuple[float, ...]
    lows: tuple[float, ...]
    highs: tuple[float, ...]

    @property
    def half_width(self) -> float:
        """Half the width of the interval of the slope."""
        return (self.high - self.low) / 2


def fitted_slope(
    ns: Sequence[int], samples: Sequence[Float[Tensor, " _"]], *, power: float, seed: int
) -> Slope:
    """The slope of errors of many seeds, for each number of tokens.

    Raises:
        InvalidValue: for fewer than two numbers of tokens, or an error that is not positive.
    """
    if len(ns) < 2:
        raise InvalidValue(f"A slope needs two numbers of tokens but got {len(ns)}. Add another.")
    generator = torch.Generator().manual_seed(seed)
    means = torch.stack([_mean(one, power) for one in samples])
    if not bool((means > 0).all()):
        raise InvalidValue("A slope needs errors above 0 but some n has none; look at the table.")
    drawn = torch.stack([_mean(_resampled(one, generator), power) for one in samples])
    log_n = torch.tensor(ns, dtype=torch.float64).log()
    share = torch.tensor([float(len(one)) for one in samples], dtype=torch.float64)
    share = share / share.sum()
    centred = log_n - share @ log_n
    weights = share * centred / (share @ centred.square())
    slope, slopes = weights @ means.log(), weights @ drawn.log()
    ends = torch.tensor([0.025, 0.975], dtype=torch.float64)
    low, high = slopes.quantile(ends).tolist()
    lows, highs = drawn.quantile(ends, dim=-1).tolist()
    intercept = float(share @ (means.log() - slope * log_n))
    return Slope(
        float(slope), intercept, low, high, tuple(ns), tuple(means.tolist()), tuple(lows),
        tuple(highs),
    )  # fmt: skip


def _mean(errors: Tensor, power: float) -> Tensor:
    return errors.pow(power).mean(-1).pow(1 / power)


def _resampled(errors: Tensor, generator: torch.Generator) -> Tensor:
    """The errors of seeds drawn with replacement, as often as there are resamples."""
    shape = (_RESAMPLES, len(errors))
    return errors[torch.randint(len(errors), shape, generator=generator)]
