# pyright: basic, reportCallIssue=false
# ruff: noqa: ANN001, ANN201, ANN202 - numba reads types off the arguments
"""The compiled loops of the engine `direct`: one pass over all pairs, tile of keys by tile.

Compiled for a width and a number format at their first call and kept in a cache on disk.

`operands` are (queries, keys, nothing): the queries one behind the other, the keys in tiles, see
`tile_keys`, and a tuple of zeros that tells the width. `sizes` are the numbers of queries, keys,
queries in a block, and 1 if query i sees keys 0 to i only. Members stand one behind the other.
"""

__all__ = ["pair_sums", "sums", "tile_keys"]

import math
from typing import no_type_check

import numpy as np
from numba import njit

from vlasov.engines.compiling import INNER
from vlasov.engines.coordinates import dot, largest, pair_tile, row, tile

_CACHE = 28_000  # bytes of a tile of keys
_NOTHING = -3e38  # below every exponent


@njit(nogil=True)
@no_type_check
def tile_keys(width, itemsize):
    """Keys in a tile: rows of so many numbers for each coordinate, the logits, each value."""
    return _CACHE // ((2 * width + 1) * itemsize) // 64 * 64


@njit(**INNER)
@no_type_check
def _query(operands, row_index):
    q, _, nothing = operands
    width = np.uintp(len(nothing))
    return row((q, np.uintp(row_index) * width, np.uintp(1), nothing), np.uintp(0))


@njit(**INNER)
@no_type_check
def _keys(operands, sizes, member, low):
    """Keys, logits and values of the tile that begins at key `low`."""
    _, packed, nothing = operands
    width = len(nothing)
    length = tile_keys(width, packed.itemsize)
    tiles = (sizes[1] + length - 1) // length
    begin = (member * tiles * length + low) * (2 * width + 1)
    first, stride = np.uintp(begin), np.uintp(length)
    middle = begin + width * length
    logits = packed[middle : middle + min(length, sizes[1] - low)]
    values = (packed, np.uintp(middle + length), stride, nothing)
    return (packed, first, stride, nothing), logits, values


@njit(**INNER)
@no_type_check
def _seen(sizes, logits, i, low):
    """The part of a tile's logits that a query sees."""
    count = i + 1 - low
    if sizes[3] and count < logits.shape[0]:
        return logits[: max(count, 0)]
    return logits


@njit(**INNER)
@no_type_check
def _guess(operands, sizes, hints, member, i):
    """A shift for a row within 900 (60 in float32) of its largest exponent; NaN if none is known.

    That exponent lies between the largest one over a few keys, the scouts, and a bound by norms;
    the formats end at 1022 and 126.
    """
    (longest, scouts), triangular = hints, sizes[3]
    query = _query(operands, member * sizes[0] + i)
    bound = math.sqrt(dot(query, query, operands[1].dtype.type(0))) * longest[member]
    length = tile_keys(len(query), operands[1].itemsize)
    attained = _NOTHING
    for s in range(scouts.shape[1]):
        j = scouts[member, s]
        if j <= i or not triangular:
            near, logits, _ = _keys(operands, sizes, member, j // length * length)
            at = np.uintp(j % length)
            attained = max(attained, dot(query, row(near, at), logits[at]))
    reach = 900.0 if operands[1].itemsize == 8 else 60.0
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
    end = rows[1] if sizes[3] else sizes[1]
    for low in range(0, end if unknown else 0, tile_keys(len(operands[2]), operands[1].itemsize)):
        near, logits, _ = _keys(operands, sizes, member, low)
        for i in range(rows[0], rows[1]):
            if searched[i - rows[0]]:
                query, seen = _query(operands, member * sizes[0] + i), _seen(sizes, logits, i, low)
                shifts[i - rows[0]] = largest(query, near, seen, shifts[i - rows[0]])
    return shifts


@njit(**INNER)
@no_type_check
def _totals(operands, sizes, member, rows, shifts):
    """Weighted sums of the values and, as the last column, of the weights alone."""
    nothing = operands[2]
    total = np.zeros((rows[1] - rows[0], len(nothing) + 1), np.float64)
    end = rows[1] if sizes[3] else sizes[1]
    for low in range(0, end, tile_keys(len(nothing), operands[1].itemsize)):
        near, logits, far = _keys(operands, sizes, member, low)
        for i in range(rows[0], rows[1]):
            query, seen = _query(operands, member * sizes[0] + i), _seen(sizes, logits, i, low)
            mass, part = tile(query, near, seen, far, shifts[i - rows[0]], nothing)
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
    """Averages and base-2 log-sums of a range of query blocks, written to the two arrays `found`.

    `hints` are, for each member, the largest norm of a key and the indices of some keys.
    """
    for block in range(blocks[0], blocks[1]):
        member, rows = _rows(sizes, block)
        shifts = _shifts(operands, sizes, hints, member, rows)
        total = _totals(operands, sizes, member, rows, shifts)
        here = member * sizes[0] + rows[0]
        for i in range(len(shifts)):
            found[1][here + i] = np.log2(total[i, -1]) + shifts[i]
            for c in range(total.shape[1] - 1):
                found[0][here + i, c] = total[i, c] / total[i, -1]


@njit(nogil=True, cache=True)
@no_type_check
def pair_sums(operands, sizes, bounded, found, blocks):
    """Values weighted by the score or, if `bounded`, by its logistic function to the base 2.

    The logits are added to the scores, and the sums to `found`, which is of float64.
    """
    nothing = operands[2]
    for block in range(blocks[0], blocks[1]):
        member, rows = _rows(sizes, block)
        end = rows[1] if sizes[3] else sizes[1]
        for low in range(0, end, tile_keys(len(nothing), operands[1].itemsize)):
            near, logits, far = _keys(operands, sizes, member, low)
            for i in range(rows[0], rows[1]):
                query, seen = _query(operands, member * sizes[0] + i), _seen(sizes, logits, i, low)
                part = pair_tile(query, near, seen, far, nothing, bounded)
                for c in range(len(nothing)):
                    found[member * sizes[0] + i, c] += part[c]
