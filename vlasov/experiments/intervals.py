r"""Intervals of confidence of means.

.. math:: \bar x \pm t_{0.975,\,n - 1}\, s / \sqrt n
"""

__all__ = ["half_width"]

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from scipy import stats

_LEVEL = 0.95


_Spreads = npt.NDArray[np.floating] | Sequence[float] | float
_Counts = npt.NDArray[np.integer] | Sequence[int] | int


def half_width(deviation: _Spreads, count: _Counts) -> npt.NDArray[np.float64]:
    """Half of Student's 95 % interval of means of `count` numbers; NaN below two of them.

    Args:
        deviation: the standard deviations, with n - 1.
        count: how many numbers each is of.

    Example:
        >>> half_width([2.0, 2.0], [2, 1]).round(4).tolist()
        [17.9693, nan]
    """
    n = np.where(np.asarray(count) > 1, count, np.nan)
    spread = np.asarray(deviation, dtype=np.float64)
    return np.asarray(stats.t.ppf((1 + _LEVEL) / 2, n - 1) * spread / np.sqrt(n))
