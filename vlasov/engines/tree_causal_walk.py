# pyright: basic, reportCallIssue=false, reportArgumentType=false
# ruff: noqa: ANN001, ANN201, ANN202 - numba reads types off the arguments
r"""Expansions over pairs of nodes in causal order: running moments of the keys already passed.

The tokens of both nodes are taken in the order of their positions. Positions come in blocks: a
query sees here the keys of the blocks before its own. So moments run over the keys, and what they
are where a block begins is evaluated at its queries.

`scene` are the queries (positions and rows, level by level, see `tree_positions`), the keys (the
same), spans and facts of the nodes of both trees, and the basis, see `tree_causal_basis`. Rows of
a query are its coordinates and minus its shift; rows of a key its coordinates, logit and channels.
"""

__all__ = ["add_expansions", "scratch_size"]

from typing import no_type_check

from numba import njit

from vlasov.engines.compiling import ENTRY_VECTORS, INNER, PASTED
from vlasov.engines.expansion import LONGEST
from vlasov.engines.intrinsics import aligned, past, room, start
from vlasov.engines.registers import WIDE
from vlasov.engines.tree_causal_lanes import BATCH, STRIDE, evaluate, gather
from vlasov.engines.tree_causal_rows import (
    add_rows,
    fill_powers,
    fill_stems,
    ones,
    scaled_about,
    weigh,
    weights,
)
from vlasov.engines.tree_causal_segments import SEGMENTS, first_from, segmented, spans_of
from vlasov.engines.tree_rows import LANES, least

_MOST = -(-LONGEST // WIDE) * WIDE
"""Numbers of a key that its powers may take."""


def scratch_size(d: int, channels: int, stems: int, slots: int) -> int:
    """Numbers that `add_expansions` needs room for."""
    rows = d * LANES + (channels + stems) * STRIDE + BATCH * _MOST
    return rows + (SEGMENTS + 1) * channels * slots * WIDE + 8  # to begin on a line of memory


@njit(**ENTRY_VECTORS)
@no_type_check
def add_expansions(scene, items, window, moments, scratch, totals):
    """Add expansions to the totals (level, channel, query).

    `items` are rows (query node, key node, polynomial, query level, key level). The window is
    (positions in a block, first and end of the positions that count, and the first that counts for
    queries), and begins with a block. `moments` of the items are those of the keys before it, and
    leave as those of the keys before its end.
    """
    (queries, keys, nodes, basis), (block, begin, end, asked) = scene, window
    (q_positions, q), (k_positions, k) = queries, keys
    (d, n), (_, channels, terms) = (q.shape[1] - 1, q.shape[2]), moments.shape
    rows = _rows(aligned(start(scratch, 0)), (d, channels, terms))
    ends, spans = room(2 * (SEGMENTS + 1), 0), room(4 * SEGMENTS, 0)
    frame = room(4 * (d + 1), 0.0)
    for i in range(items.shape[0]):
        item = start(items, i)
        some = _polynomial(basis, item[2])
        own, other = start(nodes[0], item[0]), start(nodes[2], item[1])
        scaled_about(start(nodes[1], item[0]), start(nodes[3], item[1]), d, frame)
        early, seen = start(q_positions, item[3]), start(k_positions, item[4])
        a = first_from(early, own[0], own[1], asked)
        b = first_from(seen, other[0], other[1], begin)
        last, stop = first_from(early, a, own[1], end), first_from(seen, b, other[1], end)
        sums = start(moments, i), terms, channels
        outs = start(q, item[3]), start(totals, item[3]), n
        ins = start(k, item[4]), past(start(k, item[4]), (d + 1) * n), n
        while a < last or b < stop:
            count = segmented((early, seen), (a, last, b, stop), (begin, block), ends)
            for side in range(2):
                tokens, own_frame = outs if side else ins, past(frame, side * 2 * (d + 1))
                cut = past(ends, side * (SEGMENTS + 1)), count, spans
                _add((*tokens, own_frame), (some, rows), cut, sums, side)
            b, a = ends[count], ends[SEGMENTS + 1 + count]


@njit(**PASTED)
@no_type_check
def _rows(scratch, sizes):
    """Room for parts of segments, powers, stems' rows, weights and offsets; the width."""
    d, channels, terms = sizes
    powers = past(scratch, (SEGMENTS + 1) * channels * terms)
    offset = past(powers, BATCH * _MOST)
    lines = past(offset, d * LANES)
    return scratch, powers, past(lines, channels * STRIDE), lines, offset, d


@njit(**PASTED)
@no_type_check
def _polynomial(basis, number):
    """Stems and their number, slots and theirs, and coefficients."""
    starts, stems, slots, coefficients = basis
    own = start(starts, number)
    factors = past(start(coefficients, 0), own[1] * WIDE)
    return start(stems, own[0]), own[2] - own[0], start(slots, own[1]), own[3] - own[1], factors


@njit(**INNER)
@no_type_check
def _add(tokens, how, cut, sums, evaluates):
    """Add the keys of segments to the moments, or what those moments were to the queries."""
    (x, channels, n, frame), (some, rows), (ends, segments, spans) = tokens, how, cut
    (parts, powers, stems, lines, offset, d), (moments, terms, count) = rows, sums
    low, last = ends[0], ends[segments]
    while low <= last:
        high = least(low + BATCH, last)
        lanes, used = high - low, spans_of(ends, segments, (low, high), spans)
        row, y = stems if evaluates else lines, past(offset, (d - 1) * LANES)
        weights((past(x, low), n, d), frame, lanes, offset, row)
        if evaluates:
            fill_stems(some, offset, lanes, stems)
            whole = parts, terms, count, lines
            evaluate((some[0], some[1]), (stems, y), (spans, used), whole)
            add_rows((lines, count), lanes, past(channels, low), n)
        else:
            ones(lanes, stems)
            fill_stems(some, offset, lanes, stems)
            stride = fill_powers(some, y, lanes, powers)
            weigh((lines, count), lanes, past(channels, low), n)
            whole, own = (moments, terms, count), (stems, (powers, stride), lines)
            gather((some[2], some[3], some[4]), own, (spans, used), whole, parts)
        low = high + 1 if high == last else high
