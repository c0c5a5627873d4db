# pyright: basic, reportCallIssue=false
# ruff: noqa: ANN001, ANN201, ANN202 - numba reads types off the arguments
"""The compiled loops of the engine `direct`: one pass over all pairs, tile of keys by tile.

Compiled for a width and a number format at their first call and kept in a cache on disk.

`operands` are (queries, keys, nothing): the queries one behind the other, the keys in tiles, see
`direct_operands`, and a tuple of zeros that tells the width. `sizes` are the numbers of queries,
keys, queries in a block, keys in a tile, and 1 if query i sees keys 0 to i only. Members stand one
behind the other.
"""

__all__ = ["pair_sums", "sums"]

import math
from typing import no_type_check

import numpy as np
from numba import njit

from vlasov.engines.compiling import INNER
from vlasov.engines.coordinates import largest, unchanged, weighted
from vlasov.engines.intrinsics import past, start
from vlasov.engines.power_of_two import capped_power_of_two, sigmoid
from vlasov.engines.registers import spread

_NOTHING = -3e38  # below every exponent
_LOG_2 = math.log(2)


@njit(**INNER)
@no_type_check
def _query(operands, sizes, member, i):
    """The coordinates of a query, each in a register of its own."""
    q, _, nothing = operands
    return spread(start(q, (member * sizes[0] + i) * len(nothing)), nothing)


@njit(**INNER)
@no_type_check
def _tile(operands, sizes, member, low):
    """The tile that begins at key `low`: keys, logits, values, and how far rows lie apart."""
    _, packed, nothing = operands
    width, length = len(nothing), sizes[3]
    tiles = (sizes[1] + length - 1) // length
    near = start(packed, (member * tiles * length + low) * (2 * width + 1))
    return near, past(near, width * length), past(near, (width + 1) * length), length


@njit(**INNER)
@no_type_check
def _seen(sizes, i, low):
    """How many keys of a tile a query sees, which come first."""
    count = min(sizes[3], sizes[1] - low)
    return max(min(count, i + 1 - low), 0) if sizes[4] else count


@njit(**INNER)
@no_type_check
def _dot(a, b, stride, width, so_far):
    """A scalar product, added to what there is."""
    for c in range(width):
        so_far += a[c] * b[c * stride]
    return so_far


@njit(**INNER)
@no_type_check
def _guess(operands, sizes, hints, member, i):
    """A shift for a row within 900 (60 in float32) of its largest exponent; NaN if none is known.

    That exponent lies between the largest one over a few keys, the scouts, and a bound by norms;
    the formats end at 1022 and 126.
    """
    (longest, scouts), triangular = hints, sizes[4]
    (q, _, nothing), length = operands, sizes[3]
    width, reach = len(nothing), 900.0 if q.itemsize == 8 else 60.0
    query = start(q, (member * sizes[0] + i) * width)
    bound = math.sqrt(_dot(query, query, 1, width, nothing[0])) * longest[member]
    attained = _NOTHING
    for s in range(scouts.shape[1]):
        j = scouts[member, s]
        if j <= i or not triangular:
            near, logits, _, _ = _tile(operands, sizes, member, j // length * length)
            at = j % length
            attained = max(attained, _dot(query, past(near, at), length, width, logits[at]))
    return max(attained, bound - reach) if bound - attained <= 2 * reach else np.nan


@njit(**INNER)
@no_type_check
def _shifts(operands, sizes, hints, member, rows):
    """A shift for each row: a guess, else its largest exponent."""
    shifts = np.empty(rows[1] - rows[0], operands[1].dtype)
    searched = np.zeros(len(shifts), np.bool_)
    unknown = 0
    for i in range(rows[0], rows[1]):
        guess = _guess(operands, sizes, hints, member, i)
        searched[i - rows[0]] = math.isnan(guess)
        shifts[i - rows[0]] = _NOTHING if math.isnan(guess) else guess
        unknown += searched[i - rows[0]]
    end = rows[1] if sizes[4] else sizes[1]
    for low in range(0, end if unknown else 0, sizes[3]):
        tile = _tile(operands, sizes, member, low)
        for i in range(rows[0], rows[1]):
            if searched[i - rows[0]]:
                query, seen = _query(operands, sizes, member, i), _seen(sizes, i, low)
                shifts[i - rows[0]] = largest(query, tile, seen, shifts[i - rows[0]])
    return shifts


@njit(**INNER)
@no_type_check
def _totals(operands, sizes, member, rows, shifts):
    """Weighted sums of the values and, as the last column, of the weights alone."""
    nothing = operands[2]
    total = np.zeros((rows[1] - rows[0], len(nothing) + 1), np.float64)
    end = rows[1] if sizes[4] else sizes[1]
    for low in range(0, end, sizes[3]):
        tile = _tile(operands, sizes, member, low)
        for i in range(rows[0], rows[1]):
            query, seen = _query(operands, sizes, member, i), _seen(sizes, i, low)
            shift = shifts[i - rows[0]]
            mass, part = weighted(query, tile, seen, shift, capped_power_of_two, nothing)
            total[i - rows[0], -1] += mass
            for c in range(len(nothing)):
                total[i - rows[0], c] += part[c]
    return total


@njit(**INNER)
@no_type_check
def _rows(sizes, block):
    """The member of a block and its range of queries."""
    per_member = (sizes[0] + sizes[2] - 1) // sizes[2]
    member = block // per_member
    first = (block - member * per_member) * sizes[2]
    return member, (first, min(first + sizes[2], sizes[0]))


@njit(nogil=True, cache=True)
@no_type_check
def sums(operands, sizes, hints, found, blocks):
    """Averages and, as the last column of `found`, log-sums, of a range of query blocks.

    `hints` are, for each member, the largest norm of a key and the indices of some keys.
    """
    for block in range(blocks[0], blocks[1]):
        member, rows = _rows(sizes, block)
        shifts = _shifts(operands, sizes, hints, member, rows)
        total = _totals(operands, sizes, member, rows, shifts)
        here = member * sizes[0] + rows[0]
        for i in range(len(shifts)):
            found[here + i, -1] = np.log(total[i, -1]) + shifts[i] * _LOG_2
            for c in range(found.shape[1] - 1):
                found[here + i, c] = total[i, c] / total[i, -1]


@njit(nogil=True, cache=True)
@no_type_check
def pair_sums(operands, sizes, bounded, found, blocks):
    """Values weighted by the score or, if `bounded`, by its logistic function to the base 2.

    The logits are added to the scores, and the sums to `found`, which is of float64.
    """
    nothing = operands[2]
    for block in range(blocks[0], blocks[1]):
        member, rows = _rows(sizes, block)
        end = rows[1] if sizes[4] else sizes[1]
        for low in range(0, end, sizes[3]):
            tile = _tile(operands, sizes, member, low)
            for i in range(rows[0], rows[1]):
                query, seen = _query(operands, sizes, member, i), _seen(sizes, i, low)
                if bounded:
                    _, part = weighted(query, tile, seen, nothing[0], sigmoid, nothing)
                else:
                    _, part = weighted(query, tile, seen, nothing[0], unchanged, nothing)
                for c in range(len(nothing)):
                    found[member * sizes[0] + i, c] += part[c]
