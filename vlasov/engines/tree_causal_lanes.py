# pyright: basic, reportCallIssue=false, reportArgumentType=false
# ruff: noqa: ANN001, ANN201, ANN202 - numba reads types off the arguments
"""The moments of keys, and the polynomials at queries, over lanes of tokens cut into segments.

Rows of lanes are addresses, `STRIDE` numbers apart; sums, moments and parts have as many numbers
for each channel as the largest polynomial has terms. `spans` are rows (segment, first lane, end,
whether the segment begins here). Where `parts` of segments are filled from running moments, those
moments are times the coefficients of the polynomial.
"""

__all__ = ["BATCH", "STRIDE", "evaluate", "gather"]

from typing import no_type_check

from numba import njit

from vlasov.engines.compiling import PASTED, VECTORS
from vlasov.engines.intrinsics import past
from vlasov.engines.registers import (
    ALL,
    HALF,
    TOGETHER,
    WIDE,
    collected,
    filled,
    fused,
    loaded,
    product,
    stored,
)

BATCH = 128
STRIDE = BATCH + TOGETHER * WIDE
"""Some registers may begin at the last lane."""
_SPAN = 4


@njit(**VECTORS)
@no_type_check
def gather(basis, rows, cut, sums, parts):
    """Add keys to running moments; where a segment begins, these are its part.

    `rows` are the stems, the powers of the last coordinate (those of a key together) and the
    weighted channels.
    """
    (slots, number, coefficients), (stems, powers, weights) = basis, rows
    moments, terms, count = sums
    for slot in range(0, number, TOGETHER):
        own, factors, c = past(slots, 2 * slot), past(coefficients, slot * WIDE), 0
        some = _picked(stems, own), powers, own
        at, place = past(moments, slot * WIDE), past(parts, slot * WIDE)
        while c < count:
            channels = past(weights, c * STRIDE)
            whole = past(at, c * terms), terms, factors, past(place, c * terms), count * terms
            if count - c >= 3:
                _three_moments(some, channels, cut, whole)
                c += 3
            else:
                _one_moment(some, channels, cut, whole)
                c += 1


if TOGETHER == 4:  # rows of the stems of as many slots, and their registers for one key

    @njit(**PASTED)
    @no_type_check
    def _picked(rows, slots):
        a, b = past(rows, slots[0] * STRIDE), past(rows, slots[2] * STRIDE)
        return a, b, past(rows, slots[4] * STRIDE), past(rows, slots[6] * STRIDE)

    @njit(**PASTED)
    @no_type_check
    def _monomials(some, lane):
        (r, s, t, u), (powers, stride), slots = some
        at = past(powers, lane * stride)
        places = past(at, slots[1]), past(at, slots[3]), past(at, slots[5]), past(at, slots[7])
        return collected(places, (r[lane], s[lane], t[lane], u[lane]))
else:

    @njit(**PASTED)
    @no_type_check
    def _picked(rows, slots):
        return past(rows, slots[0] * STRIDE), past(rows, slots[2] * STRIDE)

    @njit(**PASTED)
    @no_type_check
    def _monomials(some, lane):
        (r, s), (powers, stride), slots = some
        at = past(powers, lane * stride)
        return collected((past(at, slots[1]), past(at, slots[3])), (r[lane], s[lane]))


@njit(**PASTED)
@no_type_check
def _three_moments(some, channels, cut, whole):
    (spans, used), (moments, terms, factors, parts, size) = cut, whole
    u, v, w = channels, past(channels, STRIDE), past(channels, 2 * STRIDE)
    second, third = past(moments, terms), past(moments, 2 * terms)
    a, b, c = loaded(moments, ALL), loaded(second, ALL), loaded(third, ALL)
    f = loaded(factors, ALL)
    for i in range(used):
        span = past(spans, i * _SPAN)
        if span[3]:
            part = past(parts, span[0] * size)
            stored(part, product(a, f))
            stored(past(part, terms), product(b, f))
            stored(past(part, 2 * terms), product(c, f))
        for lane in range(span[1], span[2]):
            m = _monomials(some, lane)
            a = fused(m, filled(u[lane], ALL), a)
            b = fused(m, filled(v[lane], ALL), b)
            c = fused(m, filled(w[lane], ALL), c)
    stored(moments, a)
    stored(second, b)
    stored(third, c)


@njit(**PASTED)
@no_type_check
def _one_moment(some, channel, cut, whole):
    (spans, used), (moments, _, factors, parts, size) = cut, whole
    a, f = loaded(moments, ALL), loaded(factors, ALL)
    for i in range(used):
        span = past(spans, i * _SPAN)
        if span[3]:
            stored(past(parts, span[0] * size), product(a, f))
        for lane in range(span[1], span[2]):
            a = fused(_monomials(some, lane), filled(channel[lane], ALL), a)
    stored(moments, a)


@njit(**VECTORS)
@no_type_check
def evaluate(basis, rows, cut, sums):
    """Fill rows with the polynomials of the parts of segments at their queries.

    What stands beyond the last query of a segment is not for use, and overwritten by the next one.
    `rows` are the stems, whose first one is a factor of all, and the last coordinate.
    """
    (stems, y), (spans, used), (parts, terms, count, outs) = rows, cut, sums
    for i in range(used):
        span, c = past(spans, i * _SPAN), 0
        part = past(parts, span[0] * count * terms)
        while c < count:
            whole, out = (past(part, c * terms), terms), past(outs, c * STRIDE)
            three = count - c >= 3
            for low in range(span[1], span[2], TOGETHER * WIDE):
                some, at = (past(stems, low), past(y, low)), past(out, low)
                if not three:
                    _one(basis, some, whole, at)
                elif span[2] - low > TOGETHER * WIDE // 2:
                    _three(basis, some, whole, at, ALL)
                else:
                    _three(basis, some, whole, at, HALF)
            c += 3 if three else 1


@njit(**PASTED)
@no_type_check
def _three(basis, some, whole, out, many):
    (chains, number), (stems, sides), (parts, terms) = basis, some, whole
    y, r = loaded(sides, many), filled(0.0, many)
    s = t = r
    for stem in range(number):
        own = past(chains, 4 * stem)
        at, top = past(parts, own[2]), own[3] - 1
        one, two = past(at, terms), past(at, 2 * terms)
        a, b, c = filled(at[top], many), filled(one[top], many), filled(two[top], many)
        for power in range(top - 1, -1, -1):
            a = fused(a, y, filled(at[power], many))
            b = fused(b, y, filled(one[power], many))
            c = fused(c, y, filled(two[power], many))
        row = loaded(past(stems, stem * STRIDE), many)
        r, s, t = fused(a, row, r), fused(b, row, s), fused(c, row, t)
    stored(out, r)
    stored(past(out, STRIDE), s)
    stored(past(out, 2 * STRIDE), t)


@njit(**PASTED)
@no_type_check
def _one(basis, some, whole, out):
    (chains, number), (stems, sides), (parts, _) = basis, some, whole
    y, r = loaded(sides, ALL), filled(0.0, ALL)
    for stem in range(number):
        own = past(chains, 4 * stem)
        at, top = past(parts, own[2]), own[3] - 1
        a = filled(at[top], ALL)
        for power in range(top - 1, -1, -1):
            a = fused(a, y, filled(at[power], ALL))
        r = fused(a, loaded(past(stems, stem * STRIDE), ALL), r)
    stored(out, r)
