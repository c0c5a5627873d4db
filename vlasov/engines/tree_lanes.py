# pyright: basic, reportCallIssue=false
# ruff: noqa: ANN001, ANN201, ANN202 - numba reads types off the arguments
"""The loops over lanes of tokens, `LANES` at a time, which become vectors.

`stems` are rows (level, last factor, where its chain begins), see `expansion`: powers of the last
coordinate are taken four at a time. Channels are values whose first row is ones. Exponents are in
base 2.
"""

__all__ = ["LANES", "evaluate", "exponents", "gather", "powers_of", "raised"]

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


@njit(**VECTORS)
@no_type_check
def _step(ladder, level, side, lanes):
    above, row = ladder[level - 1], ladder[level]
    for lane in range(lanes):
        row[lane] = above[lane] * side[lane]


@njit(**VECTORS)
@no_type_check
def _one(row, u, powers, out):
    """Add the sums of a row times a channel times four powers."""
    p0, p1, p2, p3 = powers[0], powers[1], powers[2], powers[3]
    a0, a1, a2, a3 = 0.0, 0.0, 0.0, 0.0
    for lane in range(u.shape[0]):
        x = row[lane] * u[lane]
        a0 += x * p0[lane]
        a1 += x * p1[lane]
        a2 += x * p2[lane]
        a3 += x * p3[lane]
    _added(out, a0, a1, a2, a3)


@njit(**VECTORS)
@no_type_check
def _added(out, a0, a1, a2, a3):
    out[0] += a0
    out[1] += a1
    out[2] += a2
    out[3] += a3


@njit(**VECTORS)
@no_type_check
def _three(row, channels, powers, outs):
    """The same for three channels in one pass."""
    (u, v, w), p0, p1, p2, p3 = channels, powers[0], powers[1], powers[2], powers[3]
    a0, a1, a2, a3 = 0.0, 0.0, 0.0, 0.0
    b0, b1, b2, b3 = 0.0, 0.0, 0.0, 0.0
    c0, c1, c2, c3 = 0.0, 0.0, 0.0, 0.0
    for lane in range(u.shape[0]):
        x, y, z = row[lane] * u[lane], row[lane] * v[lane], row[lane] * w[lane]
        q0, q1, q2, q3 = p0[lane], p1[lane], p2[lane], p3[lane]
        a0, a1, a2, a3 = a0 + x * q0, a1 + x * q1, a2 + x * q2, a3 + x * q3
        b0, b1, b2, b3 = b0 + y * q0, b1 + y * q1, b2 + y * q2, b3 + y * q3
        c0, c1, c2, c3 = c0 + z * q0, c1 + z * q1, c2 + z * q2, c3 + z * q3
    _added(outs[0], a0, a1, a2, a3)
    _added(outs[1], b0, b1, b2, b3)
    _added(outs[2], c0, c1, c2, c3)


@njit(**VECTORS)
@no_type_check
def gather(stems, offset, rows, channels, span, moments):
    """Add the moments of a range of keys: sums of weighted channels by monomial."""
    (powers, ladder), (first, end), count = rows, span, channels.shape[0]
    lanes = end - first
    for stem in range(stems.shape[0] - 1):
        level, base = stems[stem, 0], stems[stem, 2] - stems[0, 2]
        if level:
            _step(ladder, level, offset[stems[stem, 1]], lanes)
        row = ladder[level]
        for low in range(0, stems[stem + 1, 2] - stems[stem, 2], 4):
            some, at, c = powers[low : low + 4], base + low, 0
            while count - c >= 3:
                u, v = channels[c, first:end], channels[c + 1, first:end]
                outs = (moments[c, at:], moments[c + 1, at:], moments[c + 2, at:])
                _three(row, (u, v, channels[c + 2, first:end]), some, outs)
                c += 3
            while c < count:
                _one(row, channels[c, first:end], some, moments[c, at:])
                c += 1


@njit(**VECTORS)
@no_type_check
def _four(x, s, c):
    """Four steps of Horner's rule, from s on."""
    return (((s * x + c[3]) * x + c[2]) * x + c[1]) * x + c[0]


@njit(**VECTORS)
@no_type_check
def _picked(chain, first):
    return chain[first], chain[first + 1], chain[first + 2], chain[first + 3]


@njit(**VECTORS)
@no_type_check
def _short(y, chain, row, out):
    """Add a row times a polynomial of four or eight coefficients."""
    lanes, c = y.shape[0], _picked(chain, 0)
    if chain.shape[0] == 4:
        for lane in range(lanes):
            out[lane] += row[lane] * _four(y[lane], 0.0, c)
        return
    b = _picked(chain, 4)
    for lane in range(lanes):
        out[lane] += row[lane] * _four(y[lane], _four(y[lane], 0.0, b), c)


@njit(**VECTORS)
@no_type_check
def _long(y, chain, row, scratch, out):
    """Add a row times a polynomial of more coefficients."""
    lanes, end = y.shape[0], chain.shape[0] - 8
    b, c = _picked(chain, end + 4), _picked(chain, end)
    for lane in range(lanes):
        scratch[lane] = _four(y[lane], _four(y[lane], 0.0, b), c)
    for low in range(end - 4, 0, -4):
        c = _picked(chain, low)
        for lane in range(lanes):
            scratch[lane] = _four(y[lane], scratch[lane], c)
    c = _picked(chain, 0)
    for lane in range(lanes):
        out[lane] += row[lane] * _four(y[lane], scratch[lane], c)


@njit(**VECTORS)
@no_type_check
def evaluate(stems, offset, rows, moments, span, totals):
    """Add the polynomials with these moments at a range of queries, for each channel."""
    (ladder, scratch), (first, end) = rows, span
    lanes = end - first
    last = offset[offset.shape[0] - 1, :lanes]
    for stem in range(stems.shape[0] - 1):
        level = stems[stem, 0]
        if level:
            _step(ladder, level, offset[stems[stem, 1]], lanes)
        low, high = stems[stem, 2] - stems[0, 2], stems[stem + 1, 2] - stems[0, 2]
        for c in range(moments.shape[0]):
            out = totals[c, first:end]
            if high - low > 8:
                _long(last, moments[c, low:high], ladder[level], scratch, out)
            else:
                _short(last, moments[c, low:high], ladder[level], out)
