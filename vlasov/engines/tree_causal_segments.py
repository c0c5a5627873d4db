# pyright: basic, reportCallIssue=false, reportArgumentType=false
# ruff: noqa: ANN001, ANN201 - numba reads types off the arguments
"""Where tokens in causal order are cut, so that all queries of a segment see the same keys."""

__all__ = ["SEGMENTS", "first_from", "segmented", "spans_of"]

from typing import no_type_check

from numba import njit

from vlasov.engines.compiling import INNER
from vlasov.engines.intrinsics import past
from vlasov.engines.tree_causal_lanes import BATCH
from vlasov.engines.tree_rows import least

SEGMENTS = 24
"""As many are cut at a time, at most."""


@njit(**INNER)
@no_type_check
def first_from(positions, low, high, wanted):
    """Where the positions between two places reach a wanted one, by halving."""
    while low < high:
        middle = (low + high) // 2
        if positions[middle] < wanted:
            low = middle + 1
        else:
            high = middle
    return low


@njit(**INNER)
@no_type_check
def segmented(positions, spans, blocks, ends):
    """Cut the next keys and queries into segments; how many there are.

    A segment are blocks whose queries come before its first key. There are as many as have room;
    the first one may be longer.
    """
    (early, seen), (i, last, j, stop), (begin, block), count = positions, spans, blocks, 0
    others = past(ends, SEGMENTS + 1)
    others[0], ends[0] = i, j
    while i < last or j < stop:
        first = seen[j] if j < stop and (i == last or seen[j] < early[i]) else early[i]
        limit, low, near = first + block - (first - begin) % block, i, j
        while i < last and early[i] < limit:
            i += 1
        while j < stop and seen[j] < limit:
            j += 1
        if i > low and near > ends[count]:
            count += 1
            others[count], ends[count] = low, near
            full = i - others[0] > BATCH or j - ends[0] > BATCH
            if full or count == SEGMENTS - 1:
                return count
    count += 1
    others[count], ends[count] = i, j
    return count


@njit(**INNER)
@no_type_check
def spans_of(ends, segments, part, spans):
    """List what of each segment lies in a range of tokens, and whether it begins there."""
    (low, high), used = part, 0
    for segment in range(segments):
        first, end = ends[segment], ends[segment + 1]
        begins = first >= low and (first < high or high == ends[segments])
        first, end = (first if first > low else low), least(end, high)
        if begins or first < end:
            own = past(spans, 4 * used)
            own[0], own[1], own[2], own[3] = segment, first - low, end - low, 1 if begins else 0
            used += 1
    return used
