# pyright: basic, reportCallIssue=false, reportArgumentType=false
# ruff: noqa: ANN001, ANN201 - numba reads types off the arguments
"""The tokens of the nodes of a tree, in the order of their positions, from one level to the next.

The tokens of a level are (positions, leaves, rows): of the token at each place its position, the
leaf it lies in, and its column of the rows (rows, n).
"""

__all__ = ["add_by_position", "deepen"]

from typing import no_type_check

from numba import njit

from vlasov.engines.compiling import ENTRY
from vlasov.engines.intrinsics import start


@njit(**ENTRY)
@no_type_check
def deepen(above, below, spans, shift, nodes):
    """Part the tokens of a range of nodes into those of their children, none overtaking another.

    A token goes to the right where its leaf has the bit `shift`.
    """
    (positions, leaves, rows), (new_positions, new_leaves, new_rows) = above, below
    x, new, (count, n) = start(rows, 0), start(new_rows, 0), rows.shape
    for node in range(nodes[0], nodes[1]):
        own, right = start(spans, node), start(spans, 2 * node + 2)
        left, other = own[0], right[0]
        for i in range(own[0], own[1]):
            bit = (leaves[i] >> shift) & 1
            place = other if bit else left
            left, other = left + 1 - bit, other + bit
            new_positions[place], new_leaves[place] = positions[i], leaves[i]
            for c in range(count):
                new[c * n + place] = x[c * n + i]


@njit(**ENTRY)
@no_type_check
def add_by_position(sums, positions, totals, channels):
    """Add the sums (levels, channels, n) of a range of channels to totals (channels, n)."""
    for level in range(sums.shape[0]):
        places = start(positions, level)
        for c in range(channels[0], channels[1]):
            row, own = start(totals, c), sums[level, c]
            for i in range(own.shape[0]):
                row[places[i]] += own[i]
