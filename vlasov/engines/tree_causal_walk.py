# pyright: basic, reportCallIssue=false
# ruff: noqa: ANN001, ANN201, ANN202 - numba reads types off the arguments
r"""Expansions over pairs of nodes in causal order: running moments of the keys already passed.

The tokens of both nodes are taken in the order of their positions. Positions come in blocks: a
query sees here the keys of the blocks before its own. So the keys of every block are gathered
into moments of their own, and running sums of these are evaluated at the queries of the next one.

`scene` are the queries (positions and rows, level by level, see `tree_positions`), the keys (the
same), spans and facts of the nodes of both trees, and the basis, see `tree_expand`. Rows of a
query are its coordinates and minus its shift; rows of a key its coordinates, logit and channels.
"""

__all__ = ["add_expansions"]

from typing import no_type_check

import numpy as np
from numba import njit

from vlasov.engines.compiling import INNER, VECTORS
from vlasov.engines.expansion import LONGEST
from vlasov.engines.tree_causal_lanes import through_segments
from vlasov.engines.tree_lanes import LANES, exponents, powers_of, raised

_LN2 = 0.6931471805599453
_SEGMENTS = 24


@njit(nogil=True, cache=True)
@no_type_check
def add_expansions(scene, items, window, moments, totals):
    """Add expansions to the totals (level, channel, query).

    `items` are rows (query node, key node, polynomial, query level, key level). The window is
    (positions in a block, first and end of the positions that count, and the first that counts for
    queries), and begins with a block. `moments` of the items are those of the keys before it, and
    leave as those of the keys before its end.
    """
    (queries, keys, nodes, basis), (block, begin, end, asked) = scene, window
    (q_positions, q), (k_positions, k) = queries, keys
    ends, about = np.zeros((2, _SEGMENTS + 1), np.int64), np.empty((2, 2, q.shape[1]))
    scratch = np.empty((2 * LONGEST + q.shape[1] - 1, LANES))
    rows = scratch[LONGEST : 2 * LONGEST], scratch[:LONGEST], scratch[2 * LONGEST :]
    parts = np.empty((_SEGMENTS, *moments.shape[1:]))
    for item in range(items.shape[0]):
        a, b, where, there = items[item, 0], items[item, 1], items[item, 3], items[item, 4]
        stems = basis[1][basis[0][items[item, 2]] : basis[0][items[item, 2] + 1] + 1]
        _about(nodes[1][a], nodes[3][b], about)
        positions = q_positions[where], k_positions[there]
        i, last = _range(positions[0], nodes[0][a], asked, end)
        j, stop = _range(positions[1], nodes[2][b], begin, end)
        while i < last or j < stop:
            count = _cut(positions, (i, last, j, stop), (begin, block), ends)
            parts[:count, :, : _terms(stems)] = 0.0
            for side in range(2):
                tokens = q[where] if side else k[there]
                channels = totals[where] if side else tokens[q.shape[1] :]
                if side:
                    _passed(parts[:count], moments[item], basis[2], stems)
                some = tokens, ends[side, : count + 1], channels
                _add(some, about[side], (stems, rows), parts, side)
            j, i = ends[0, count], ends[1, count]


@njit(**INNER)
@no_type_check
def _terms(stems):
    return stems[stems.shape[0] - 1, 2] - stems[0, 2]


@njit(**INNER)
@no_type_check
def _about(own, other, about):
    """For keys and queries: the point they are seen from, and slopes and a shift of exponents.

    Keys are tilted by the centre a of the queries: 2 to the power <a, k - c> + logit - top, where
    `top` is a bound. Queries bring <c, q> - shift + top; their offsets carry the factor log 2.
    """
    d, top, both = about.shape[2] - 1, other[about.shape[2]], 0.0
    for c in range(d):
        low, high = other[d + 2 + c] - other[c], other[2 * d + 2 + c] - other[c]
        top += max(own[c] * low, own[c] * high)
        both += own[c] * other[c]
        about[0, 0, c], about[0, 1, c] = other[c], own[c]
        about[1, 0, c], about[1, 1, c] = own[c], other[c] / _LN2
    about[0, 0, d], about[0, 1, d] = 1.0, top
    about[1, 0, d], about[1, 1, d] = _LN2, -top - both


@njit(**INNER)
@no_type_check
def _range(positions, span, begin, end):
    """Where positions from `begin` to `end` stand in a span."""
    first = span[0] + np.searchsorted(positions[span[0] : span[1]], begin)
    return first, first + np.searchsorted(positions[first : span[1]], end)


@njit(**INNER)
@no_type_check
def _cut(positions, spans, blocks, ends):
    """Cut the next keys and queries into segments; how many there are.

    A segment are blocks whose queries come before its first key. There are as many as have room;
    the first one may be longer.
    """
    (early, seen), (i, last, j, stop), (begin, block), count = (
        positions,
        spans,
        blocks,
        np.int64(0),
    )
    ends[1, 0], ends[0, 0] = i, j
    while i < last or j < stop:
        first = seen[j] if j < stop and (i == last or seen[j] < early[i]) else early[i]
        limit, low, near = first + block - (first - begin) % block, i, j
        while i < last and early[i] < limit:
            i += 1
        while j < stop and seen[j] < limit:
            j += 1
        if i > low and near > ends[0, count]:
            count += 1
            ends[1, count], ends[0, count] = low, near
            full = i - ends[1, 0] > LANES or j - ends[0, 0] > LANES
            if full or count == ends.shape[1] - 2:
                return count
    count += 1
    ends[1, count], ends[0, count] = i, j
    return count


@njit(**INNER)
@no_type_check
def _passed(parts, moments, coefficients, stems):
    """Turn the moments of segments into coefficients by those of all keys before each of them."""
    for segment in range(parts.shape[0]):
        for c in range(moments.shape[0]):
            for term in range(_terms(stems)):
                own = parts[segment, c, term]
                parts[segment, c, term] = moments[c, term] * coefficients[stems[0, 2] + term]
                moments[c, term] += own


@njit(**INNER)
@no_type_check
def _add(some, about, how, parts, evaluates):
    """Add the keys of segments to their moments, or the moments to the queries."""
    (tokens, ends, channels), (origin, slopes), (stems, rows) = some, about, how
    (powers, ladder, offset), begin, segments = rows, np.int64(0), ends.shape[0] - 1
    d, longest = offset.shape[0], stems[1, 2] - stems[0, 2]
    for low in range(ends[0], ends[segments], LANES):
        high = min(low + LANES, ends[segments])
        for c in range(d):
            _moved(tokens[c, low:high], origin[c], origin[d], offset[c])
        exponents(slopes[:d], offset, begin, tokens[d, low:high], ladder[0])
        raised(ladder[0], slopes[d], high - low)
        powers_of(offset[d - 1], powers[:longest], high - low)
        through_segments(stems, rows, (ends, segments, low, high), parts, channels, evaluates)


@njit(**VECTORS)
@no_type_check
def _moved(side, origin, factor, offset):
    """Fill the offsets of some points from the origin, in one coordinate."""
    for i in range(side.shape[0]):
        offset[i] = (side[i] - origin) * factor
