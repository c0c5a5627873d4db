"""Many trees of operators and digits, level by level: sizes, tokens depth first, values.

The nodes of one depth lie side by side over all trees, the arguments of an operator together.
"""

__all__ = ["Ints", "Level", "laid_out", "sizes_of", "values_of"]

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from vlasov.lra.listops_words import CLOSE, DIGIT, MAX, MED, MIN, SUM

Ints = npt.NDArray[np.int64]

_ABSENT = 127  # sorts after every digit


class Level(NamedTuple):
    """The nodes of one depth."""

    is_operator: npt.NDArray[np.bool_]
    kinds: Ints  # the id of the operator, or the digit
    arguments: Ints  # their number, of the operators alone


def sizes_of(levels: Sequence[Level]) -> list[Ints]:
    """The tokens of each node with all below it; an operator opens and closes."""
    found: list[Ints] = []
    below = np.zeros(0, dtype=np.int64)
    for level in reversed(levels):
        size = np.ones(len(level.kinds), dtype=np.int64)
        if len(level.arguments):
            size[level.is_operator] = 2 + np.add.reduceat(below, _begins(level.arguments))
        found.append(size)
        below = size
    return found[::-1]


def laid_out(
    levels: Sequence[Level], sizes: Sequence[Ints]
) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.uint8]]:
    """The tokens of all trees, one after the other, and the arguments where an operator opens."""
    tokens = np.zeros(sizes[0].sum(), dtype=np.uint8)
    arguments = np.zeros_like(tokens)
    starts = _begins(sizes[0])
    for level, size, below in zip(levels, sizes, [*sizes[1:], starts[:0]], strict=True):
        opens = starts[level.is_operator]
        tokens[starts] = np.where(level.is_operator, level.kinds, DIGIT + level.kinds)
        tokens[opens + size[level.is_operator] - 1] = CLOSE
        arguments[opens] = level.arguments
        before = _begins(below)
        first = before[_begins(level.arguments)]
        starts = before + (opens + 1 - first).repeat(level.arguments)
    return tokens, arguments


def values_of(levels: Sequence[Level]) -> Ints:
    """The value of each root, from the leaves up."""
    values = np.zeros(0, dtype=np.int64)
    for level in reversed(levels):
        below, values = values, level.kinds.copy()
        if len(level.arguments):
            operators = level.kinds[level.is_operator]
            values[level.is_operator] = _applied(operators, level.arguments, below)
    return values


def _applied(operators: Ints, arguments: Ints, digits: Ints) -> Ints:
    given = np.arange(arguments.max()) < arguments[:, None]
    table = np.full(given.shape, _ABSENT, dtype=np.int8)
    table[given] = digits
    table.sort(axis=1)
    row = np.arange(len(table))
    lower, upper = table[row, (arguments - 1) // 2], table[row, arguments // 2]
    total = np.where(table == _ABSENT, 0, table).sum(axis=1) % 10
    found = {
        MIN: table[:, 0],
        MAX: table[row, arguments - 1],
        MED: (lower + upper) // 2,  # the mean of the middle two, cut to an integer
        SUM: total,
    }
    return np.select([operators == kind for kind in found], list(found.values())).astype(np.int64)


def _begins(counts: Ints) -> Ints:
    return np.cumsum(counts) - counts
