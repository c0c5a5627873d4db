"""Random nested lists: their tokens, values and lengths, many at a time.

A node at depth 1 to 9 is an operator with probability 1/4 and a digit otherwise; at depth 10 it
is a digit. An operator takes 2 to 10 arguments. A list is kept if its number of tokens, an
operator counting two, lies strictly between two bounds; the root of a kept list is an operator,
so none other is drawn.

Sources: Nangia and Bowman, ListOps, arXiv:1804.06028; Tay et al., Long Range Arena,
arXiv:2011.04006.
"""

__all__ = ["Drawn", "Grammar"]

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from vlasov.errors import InvalidValue
from vlasov.lra.listops_trees import Level, laid_out, sizes_of, values_of
from vlasov.lra.listops_words import MIN, SUM

_OPERATOR = 0.25
_ROOTS = 512  # drawn at once: small enough for the cache, large enough for NumPy
_FRUITLESS = 200  # draws of as many roots without anything new: there is no more


class Drawn(NamedTuple):
    """One list: its tokens, the number of arguments where an operator opens, and its value."""

    tokens: bytes
    arguments: bytes
    value: int


@dataclass(frozen=True)
class Grammar:
    """The bounds of a list.

    Args:
        shortest: fewer or as many tokens are dropped.
        longest: more or as many tokens are dropped.
        depth: digits alone from here on; operators nest one less.
        arguments: the most of an operator.
    """

    shortest: int = 500
    longest: int = 2000
    depth: int = 10
    arguments: int = 10

    def __post_init__(self) -> None:
        if self.depth < 2 or self.arguments < 2:
            raise InvalidValue(
                f"Lists need depth and arguments of at least 2 but got {self.depth} and "
                f"{self.arguments}. Raise them."
            )
        if not 1 <= self.shortest < self.longest - 1:
            raise InvalidValue(
                "The bounds of a list must be at least 1 and leave a length between them but "
                f"got {self.shortest} and {self.longest}. Move them apart."
            )

    def lists(self, seed: int) -> Iterator[Drawn]:
        """Lists without end, all different, fixed by the seed.

        Raises:
            InvalidValue: where hardly any (new) list fits the bounds.
        """
        rng = np.random.default_rng(seed)
        seen: set[bytes] = set()
        fruitless = 0
        while fruitless < _FRUITLESS:
            before = len(seen)
            for drawn in self._some(rng):
                if drawn.tokens not in seen:
                    seen.add(drawn.tokens)
                    yield drawn
            fruitless = 0 if len(seen) > before else fruitless + 1
        raise InvalidValue(
            f"Lists of more than {self.shortest} and fewer than {self.longest} tokens were wanted "
            f"but {_FRUITLESS * _ROOTS} draws gave no new one after {len(seen)}. "
            "Widen the bounds or lower the count."
        )

    def _some(self, rng: np.random.Generator) -> Iterator[Drawn]:
        """The lists within the bounds among as many roots as are drawn at once."""
        levels = self._grown(rng)
        sizes = sizes_of(levels)
        ends = np.cumsum(sizes[0])
        tokens, arguments = laid_out(levels, sizes)
        values = values_of(levels)
        kept = np.flatnonzero((sizes[0] > self.shortest) & (sizes[0] < self.longest))
        for tree in kept.tolist():
            place = slice(ends[tree] - sizes[0][tree], ends[tree])
            yield Drawn(tokens[place].tobytes(), arguments[place].tobytes(), int(values[tree]))

    def _grown(self, rng: np.random.Generator) -> list[Level]:
        trees, nodes = np.arange(_ROOTS), np.zeros(_ROOTS, dtype=np.int64)
        levels: list[Level] = []
        for depth in range(1, self.depth + 1):
            chance = {1: 1.0, self.depth: 0.0}.get(depth, _OPERATOR)
            nodes += np.bincount(trees, minlength=_ROOTS)
            # a tree that is too long already is dropped anyhow: it grows no further
            is_operator = (rng.random(len(trees)) < chance) & (nodes < self.longest)[trees]
            arguments = rng.integers(2, self.arguments + 1, is_operator.sum())
            kinds = rng.integers(0, 10, len(trees))
            kinds[is_operator] = rng.integers(MIN, SUM + 1, is_operator.sum())
            levels.append(Level(is_operator, kinds, arguments))
            trees = trees[is_operator].repeat(arguments)
        return levels
