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
from vlasov.engines.registers import WIDE, collected, filled, fused, loaded, product, stored

BATCH = 128
STRIDE = BATCH + 4 * WIDE
"""Four registers may begin at the last lane."""
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
    for slot in range(0, number, 4):
        own, factors, c = past(slots, 2 * slot), past(coefficients, slot * WIDE), 0
        some = _four_stems(stems, own), (powers[0], powers[1], own[1], own[3], own[5], own[7])
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


@njit(**PASTED)
@no_type_check
def _four_stems(stems, slots):
    return (
        past(stems, slots[0] * STRIDE),
        past(stems, slots[2] * STRIDE),
        past(stems, slots[4] * STRIDE),
        past(stems, slots[6] * STRIDE),
    )


@njit(**PASTED)
@no_type_check
def _monomials(some, lane):
    """The registers of four slots for one key."""
    (r, s, t, u), (powers, stride, i, j, k, l) = some
    at = past(powers, lane * stride)
    powers = past(at, i), past(at, j), past(at, k), past(at, l)
    return collected(powers, (r[lane], s[lane], t[lane], u[lane]))


@njit(**PASTED)
@no_type_check
def _three_moments(some, channels, cut, whole):
    (spans, used), (moments, terms, factors, parts, size) = cut, whole
    u, v, w = channels, past(channels, STRIDE), past(channels, 2 * STRIDE)
    second, third = past(moments, terms), past(moments, 2 * terms)
    a, b, c, f = loaded(moments, 4), loaded(second, 4), loaded(third, 4), loaded(factors, 4)
    for i in range(used):
        span = past(spans, i * _SPAN)
        if span[3]:
            part = past(parts, span[0] * size)
            stored(part, product(a, f))
            stored(past(part, terms), product(b, f))
            stored(past(part, 2 * terms), product(c, f))
        for lane in range(span[1], span[2]):
            m = _monomials(some, lane)
            a = fused(m, filled(u[lane], 4), a)
            b = fused(m, filled(v[lane], 4), b)
            c = fused(m, filled(w[lane], 4), c)
    stored(moments, a)
    stored(second, b)
    stored(third, c)


@njit(**PASTED)
@no_type_check
def _one_moment(some, channel, cut, whole):
    (spans, used), (moments, _, factors, parts, size) = cut, whole
    a, f = loaded(moments, 4), loaded(factors, 4)
    for i in range(used):
        span = past(spans, i * _SPAN)
        if span[3]:
            stored(past(parts, span[0] * size), product(a, f))
        for lane in range(span[1], span[2]):
            a = fused(_monomials(some, lane), filled(channel[lane], 4), a)
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
            for low in range(span[1], span[2], 4 * WIDE):
                some, at = (past(stems, low), past(y, low)), past(out, low)
                if not three:
                    _one(basis, some, whole, at)
                elif span[2] - low > 2 * WIDE:
                    _three(basis, some, whole, at, 4)
                else:
                    _three(basis, some, whole, at, 2)
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
    y, r = loaded(sides, 4), filled(0.0, 4)
    for stem in range(number):
        own = past(chains, 4 * stem)
        at, top = past(parts, own[2]), own[3] - 1
        a = filled(at[top], 4)
        for power in range(top - 1, -1, -1):
            a = fused(a, y, filled(at[power], 4))
        r = fused(a, loaded(past(stems, stem * STRIDE), 4), r)
    stored(out, r)
