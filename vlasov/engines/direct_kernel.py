# pyright: basic, reportCallIssue=false
# ruff: noqa: ANN001, ANN201, ANN202 - numba reads types off the arguments
"""The compiled loops of the engine `direct`: one pass over all pairs, tile of keys by tile.

Compiled for a width and a number format at their first call and kept in a cache on disk.
"""

__all__ = ["sums"]

from typing import no_type_check

import numpy as np
from numba import njit

from vlasov.engines.coordinates import largest, row, span, tile, zeros_like


@njit(nogil=True)
@no_type_check
def _seen(sizes, i, low):
    """How many keys of the tile at `low` a query sees."""
    _, keys, _, width, triangular = sizes
    end = i + 1 if triangular else keys
    return max(min(end - low, width, keys - low), 0)


@njit(nogil=True)
@no_type_check
def _tops(operands, sizes, member, rows):
    """The largest exponent of each row."""
    q, k, logits, _ = operands
    queries, keys, _, width, _ = sizes
    top = np.full(rows[1] - rows[0], -np.inf, logits.dtype)
    for low in range(0, keys, width):
        base = member * keys + low
        for i in range(rows[0], rows[1]):
            end = base + _seen(sizes, i, low)
            if end > base:
                query = row(q, member * queries + i)
                near = span(k, base, end)
                top[i - rows[0]] = largest(query, near, logits[base:end], top[i - rows[0]])
    return top


@njit(nogil=True)
@no_type_check
def _totals(operands, sizes, member, rows, shifts):
    """Weighted sums of the values and, as the last column, of the weights alone."""
    q, k, logits, v = operands
    queries, keys, _, width, _ = sizes
    total = np.zeros((rows[1] - rows[0], len(v) + 1), np.float64)
    for low in range(0, keys, width):
        base = member * keys + low
        for i in range(rows[0], rows[1]):
            end = base + _seen(sizes, i, low)
            if end > base:
                query = row(q, member * queries + i)
                near, far = span(k, base, end), span(v, base, end)
                shift, zeros = shifts[i - rows[0]], zeros_like(query)
                mass, part = tile(query, near, logits[base:end], far, shift, zeros)
                total[i - rows[0], -1] += mass
                for c in range(len(v)):
                    total[i - rows[0], c] += part[c]
    return total


@njit(nogil=True, cache=True)
@no_type_check
def sums(operands, sizes, searched, found, blocks):
    """Averages and base-2 log-sums of a range of query blocks.

    The operands q, k, logits, v are tuples of one array per coordinate (logits: one array), member
    after member. `sizes` are the numbers of queries, keys, queries in a block, keys in a tile, and
    1 if query i sees keys 0 to i only. A member is `searched` for the largest exponent of each row
    where a shift is needed. The results go to the two arrays `found`.
    """
    queries, block_rows = sizes[0], sizes[2]
    per_member = (queries + block_rows - 1) // block_rows
    for block in range(blocks[0], blocks[1]):
        member = block // per_member
        first = (block - member * per_member) * block_rows
        rows = (first, min(first + block_rows, queries))
        shifts = np.zeros(rows[1] - rows[0], operands[2].dtype)
        if searched[member]:
            shifts = _tops(operands, sizes, member, rows)
        total = _totals(operands, sizes, member, rows, shifts)
        here = member * queries + first
        found[1][here : here + len(shifts)] = np.log2(total[:, -1]) + shifts
        found[0][here : here + len(shifts)] = total[:, :-1] / total[:, -1:]
