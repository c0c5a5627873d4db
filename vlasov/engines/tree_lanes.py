# pyright: basic, reportCallIssue=false
# ruff: noqa: ANN001, ANN201 - numba reads types off the arguments
"""Loops over lanes of tokens that stand in arrays, `LANES` at a time, which become vectors.

Exponents are in base 2. For rows that are addresses, see `tree_rows`.
"""

__all__ = ["LANES", "exponents", "powers_of", "raised"]

from typing import no_type_check

from numba import njit

from vlasov.engines.compiling import VECTORS
from vlasov.engines.power_of_two import exponential

LANES = 256


@njit(**VECTORS)
@no_type_check
def exponents(a, points, low, logits, row):
    """Fill a row with <a, point> + logit for the points from `low` on, and return the largest."""
    top, lanes = -1e300, logits.shape[0]
    for lane in range(lanes):
        row[lane] = logits[lane]
    for c in range(points.shape[0]):
        slope, side = a[c], points[c, low : low + lanes]
        for lane in range(lanes):
            row[lane] += slope * side[lane]
    for lane in range(lanes):
        top = max(top, row[lane])
    return top


@njit(**VECTORS)
@no_type_check
def raised(row, shift, lanes):
    """Turn exponents into powers of 2, relative to a shift."""
    for lane in range(lanes):
        row[lane] = exponential(row[lane] - shift)


@njit(**VECTORS)
@no_type_check
def powers_of(side, powers, lanes):
    """Fill the rows with the powers of a coordinate."""
    for lane in range(lanes):
        powers[0, lane] = 1.0
    for level in range(1, powers.shape[0]):
        above, row = powers[level - 1], powers[level]
        for lane in range(lanes):
            row[lane] = above[lane] * side[lane]
