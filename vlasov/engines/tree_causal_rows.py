# pyright: basic, reportCallIssue=false, reportArgumentType=false
# ruff: noqa: ANN001, ANN201, ANN202 - numba reads types off the arguments
"""Rows of numbers of tokens, over lanes, of which a causal walk makes moments and sums."""

__all__ = [
    "add_rows",
    "fill_powers",
    "fill_stems",
    "ones",
    "scaled_about",
    "weigh",
    "weights",
]

from typing import no_type_check

from numba import njit

from vlasov.engines.compiling import INNER, PASTED
from vlasov.engines.intrinsics import larger, past
from vlasov.engines.power_of_two import power_of_two
from vlasov.engines.registers import (
    ONE,
    WIDE,
    filled,
    fused,
    geometric,
    loaded,
    plus,
    product,
    stored,
)
from vlasov.engines.tree_causal_lanes import STRIDE
from vlasov.engines.tree_rows import LANES

_LN2, _FLAT = 0.6931471805599453, 1e-100


@njit(**INNER)
@no_type_check
def scaled_about(own, other, d, frame):
    """For keys, then queries: the point they are seen from, a factor, slopes and a shift.

    The last two are those of exponents. Keys are tilted by the centre a of the queries: 2 to the
    power <a, k - c> + logit - top, where `top` is a bound. Queries bring <c, q> - shift + top.
    Offsets of keys are relative to the radius of their node; those of queries carry it, and the
    factor log 2. So no power of a key is large.
    """
    size, top, both, side = d + 1, other[d + 1], 0.0, 2 * (d + 1)
    far = _FLAT
    for c in range(d):
        far += abs(other[c])
    scale = other[d] if other[d] > _FLAT * far else 1.0  # else slopes might overflow
    for c in range(d):
        low, high = other[d + 2 + c] - other[c], other[2 * d + 2 + c] - other[c]
        top += larger(own[c] * low, own[c] * high)
        both += own[c] * other[c]
        frame[c], frame[size + c] = other[c], own[c] * scale
        frame[side + c], frame[side + size + c] = own[c], other[c] / (_LN2 * scale)
    frame[d], frame[size + d] = 1.0 / scale, top
    frame[side + d], frame[side + size + d] = _LN2 * scale, -top - both


@njit(**PASTED)
@no_type_check
def weights(tokens, frame, lanes, offset, row):
    """Fill the offsets of tokens, and a row with their weights, of whole registers.

    So numbers after the last token are read too, and what comes of them is not for use.
    """
    (x, n, d), slopes = tokens, past(frame, tokens[2] + 1)
    for lane in range(0, lanes, WIDE):
        own = past(x, lane)
        t = plus(loaded(past(own, d * n), ONE), filled(-slopes[d], ONE))
        for c in range(d):
            side = plus(loaded(past(own, c * n), ONE), filled(-frame[c], ONE))
            side = product(side, filled(frame[d], ONE))
            stored(past(offset, c * LANES + lane), side)
            t = fused(side, filled(slopes[c], ONE), t)
        stored(past(row, lane), power_of_two(t))


@njit(**PASTED)
@no_type_check
def ones(lanes, row):
    """Fill a row with ones."""
    for lane in range(0, lanes, WIDE):
        stored(past(row, lane), filled(1.0, ONE))


@njit(**PASTED)
@no_type_check
def _multiply(one, other, lanes, row):
    """Fill a row with the products of two, of whole registers."""
    for lane in range(0, lanes, WIDE):
        stored(
            past(row, lane), product(loaded(past(one, lane), ONE), loaded(past(other, lane), ONE))
        )


@njit(**INNER)
@no_type_check
def fill_stems(some, offset, lanes, stems):
    """The rows of all stems after the first, each a row before it times a coordinate."""
    for i in range(1, some[1]):
        own = past(some[0], 4 * i)
        above, side = past(stems, own[0] * STRIDE), past(offset, own[1] * LANES)
        _multiply(above, side, lanes, past(stems, i * STRIDE))


@njit(**INNER)
@no_type_check
def fill_powers(some, y, lanes, powers):
    """The powers of the last coordinate of each key, together; how many there are of a key."""
    stride = (some[0][3] + WIDE - 1) // WIDE * WIDE
    for lane in range(lanes):
        at = past(powers, lane * stride)
        row, step = geometric(y[lane])
        for power in range(0, stride, WIDE):
            stored(past(at, power), row)
            row = product(row, step)
    return stride


@njit(**INNER)
@no_type_check
def weigh(rows, lanes, channels, n):
    """Turn the first row, of weights, into weighted channels, of whole registers."""
    first, count = rows
    for c in range(count - 1, -1, -1):
        _multiply(first, past(channels, c * n), lanes, past(first, c * STRIDE))


@njit(**INNER)
@no_type_check
def add_rows(rows, lanes, channels, n):
    """Add rows to channels."""
    for c in range(rows[1]):
        row, own = past(rows[0], c * STRIDE), past(channels, c * n)
        for lane in range(lanes):
            own[lane] += row[lane]
