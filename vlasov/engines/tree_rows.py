# pyright: basic, reportCallIssue=false
# ruff: noqa: ANN001, ANN201 - numba reads types off the arguments
"""The loops over lanes of tokens, `LANES` at a time, which become vectors.

Rows of numbers are addresses, see `intrinsics`; a tuple (address, stride) or (address, stride,
number) stands for several of them. Exponents are in base 2.
"""

__all__ = ["LANES", "exponents", "least", "moved", "powers_of", "raised", "step"]

from typing import no_type_check

from numba import njit

from vlasov.engines.compiling import PASTED
from vlasov.engines.intrinsics import larger, past
from vlasov.engines.power_of_two import power_of_two

LANES = 256


@njit(**PASTED)
@no_type_check
def least(a, b):
    """The smaller of two whole numbers."""
    return a if a < b else b


@njit(**PASTED)
@no_type_check
def moved(points, centre, factor, lanes, offset):
    """Fill the offsets of some points from a centre."""
    x, stride, d = points
    for c in range(d):
        side, row, middle = past(x, c * stride), past(offset, c * LANES), centre[c]
        for lane in range(lanes):
            row[lane] = (side[lane] - middle) * factor


@njit(**PASTED)
@no_type_check
def exponents(a, points, logits, lanes, row):
    """Fill a row with <a, point> + logit, and return the largest."""
    (x, stride, d), top = points, -1e300
    for lane in range(lanes):
        row[lane] = logits[lane]
    for c in range(d):
        side, slope = past(x, c * stride), a[c]
        for lane in range(lanes):
            row[lane] += slope * side[lane]
    for lane in range(lanes):
        top = larger(top, row[lane])
    return top


@njit(**PASTED)
@no_type_check
def raised(row, shift, lanes):
    """Turn exponents into powers of 2, relative to a shift."""
    for lane in range(lanes):
        row[lane] = power_of_two(row[lane] - shift)


@njit(**PASTED)
@no_type_check
def powers_of(side, powers, count, lanes):
    """Fill as many rows with the powers of a coordinate."""
    for lane in range(lanes):
        powers[lane] = 1.0
    for level in range(1, count):
        step(powers, level, side, lanes)


@njit(**PASTED)
@no_type_check
def step(ladder, level, side, lanes):
    """Fill the row of a level with the row above times a coordinate."""
    row = past(ladder, level * LANES)
    above = past(row, -LANES)
    for lane in range(lanes):
        row[lane] = above[lane] * side[lane]
