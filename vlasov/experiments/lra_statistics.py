r"""What several seeds say: a mean with its 95 % interval, and differences seed by seed.

.. math:: \bar x \pm t_{0.975,\,n-1}\, s / \sqrt n

Source: Student's t-interval; the sign test is the exact binomial one, ties left out.
"""

__all__ = ["FEWEST", "Estimate", "accuracy_of", "estimate", "paired", "sign_test", "t_test"]

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from scipy import stats

from vlasov.experiments.intervals import half_width

FEWEST = 6
"""Seeds below which no test is reported: the sign test could not fall under 5 %."""

_ROUNDING = 1e-12  # of differences of accuracies: below, they are equal


@dataclass(frozen=True)
class Estimate:
    """The mean of `n` numbers, with the bounds of its interval and the standard deviation.

    Without numbers all is None; of a single one only the mean is known.
    """

    n: int
    mean: float | None = None
    low: float | None = None
    high: float | None = None
    deviation: float | None = None


def estimate(values: Sequence[float]) -> Estimate:
    """The mean with its 95 % interval.

    Example:
        >>> estimate([1.0, 3.0]).mean, round(estimate([1.0, 3.0]).high, 4)
        (2.0, 14.7062)
    """
    n = len(values)
    if n == 0:
        return Estimate(0)
    mean = statistics.fmean(values)
    if n == 1:
        return Estimate(1, mean)
    deviation = statistics.stdev(values)
    deviation = deviation if deviation > _ROUNDING else 0.0
    reach = float(half_width(deviation, n))
    return Estimate(n, mean, mean - reach, mean + reach, deviation)


def accuracy_of(seeds: Mapping[int, float]) -> Estimate:
    """The mean accuracy over seeds; its interval ends where accuracies do.

    Example:
        >>> accuracy_of({0: 0.1, 1: 0.9}).low
        0.0
    """
    found = estimate(list(seeds.values()))
    if found.low is None or found.high is None:
        return found
    return replace(found, low=max(0.0, found.low), high=min(1.0, found.high))


def paired(one: Mapping[int, float], other: Mapping[int, float]) -> list[float]:
    """The differences `one` - `other` of the seeds that both have, in the order of the seeds."""
    return [one[seed] - other[seed] for seed in sorted(one.keys() & other.keys())]


def t_test(differences: Sequence[float]) -> float | None:
    """The two-sided p-value of Student's test; None below `FEWEST` and without any spread."""
    found = estimate(differences)
    if found.n < FEWEST or found.mean is None or not found.deviation:
        return None
    t = abs(found.mean) * math.sqrt(found.n) / found.deviation
    return float(2 * stats.t.sf(t, found.n - 1))


def sign_test(differences: Sequence[float]) -> float | None:
    """The two-sided p-value of the sign test; None below `FEWEST`.

    Example:
        >>> sign_test([0.1] * 6)
        0.03125
    """
    if len(differences) < FEWEST:
        return None
    moved = [value for value in differences if value != 0]
    if not moved:
        return 1.0
    return float(stats.binomtest(sum(value > 0 for value in moved), len(moved)).pvalue)
