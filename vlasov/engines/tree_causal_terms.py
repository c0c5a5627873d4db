"""What a causal walk sums: trees, numbers by position, a key that each query sees, and a plan."""

__all__ = ["CausalTerms"]

import math
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from vlasov.engines.expansion import Expansion, expansion
from vlasov.engines.threads import in_threads
from vlasov.engines.tree_build import Grown, with_logits
from vlasov.engines.tree_causal_basis import CausalBasis, causal_basis
from vlasov.engines.tree_positions import firsts, spacious
from vlasov.engines.tree_sums import longest, trees_over

Array = npt.NDArray[np.floating[Any]]
Integers = npt.NDArray[np.int64]

_BINARY = math.log2(math.e)
# Nanoseconds as in `tree_terms`, without that of an expansion; half of the pairs of nodes count.
_COSTS = (0.03, 0.05, 0.35, 50.0, 6.0)
_BREAK = 0.3
"""Nanoseconds of a term and channel where the moments of a block end."""
_PAIR = 0.45
"""Nanoseconds of a pair in a block."""
_SEARCH = 2000.0
"""Nanoseconds of the search for a node."""
_FIRST_BLOCK, _SMALLEST, _LARGEST = 1024, 128, 4096


@dataclass(frozen=True, eq=False)
class CausalTerms:
    """Trees, polynomials, the best key that each query node sees, and rows of numbers by position.

    Rows of a query are its coordinates (times log2 e) and minus its shift; rows of a key its
    coordinates, its logit and channels, of which the first is ones. Queries before `begin` do not
    count.
    """

    queries: Grown
    keys: Grown
    query_rows: Array
    key_rows: Array
    aims: Array
    basis: Expansion
    chains: CausalBasis
    dropped: float
    begin: int

    @classmethod
    def of(
        cls, q: Array, k: Array, values: Array, logits: Array, *, tolerance: float, begin: int
    ) -> "CausalTerms":
        """With a quarter of the tolerance for the polynomials, and one for pruning."""
        from vlasov.engines.registers import TOGETHER, WIDE  # loads numba

        trees, d = trees_over(q, k), q.shape[1]
        keys = with_logits(trees.keys, logits * _BINARY)
        aims = _seen_keys(trees.queries, keys, begin)
        query_rows = _rows(q.T, -_shifts(trees.queries, aims))
        query_rows[:d] *= _BINARY
        key_rows = _rows(k.T, logits * _BINARY, np.ones(len(k)), values.T)
        dropped = math.log2(tolerance / 4 / len(k))
        basis = expansion(d, tolerance / 4)
        chains = causal_basis(d, tolerance / 4, WIDE, TOGETHER)
        return cls(trees.queries, keys, query_rows, key_rows, aims, basis, chains, dropped, begin)

    @property
    def width(self) -> int:
        """Coordinates of a token."""
        return len(self.query_rows) - 1

    @property
    def channels(self) -> int:
        """The ones, and the values."""
        return len(self.key_rows) - self.width - 1

    @property
    def count(self) -> int:
        """Tokens."""
        return len(self.queries.order)

    @property
    def values(self) -> Array:
        """The values (c, n) by position."""
        return self.key_rows[self.width + 2 :]

    @property
    def shifts(self) -> Array:
        """The exponent, to the base 2, that each query is shifted by."""
        return -self.query_rows[self.width]

    @property
    def largest(self) -> float:
        """A bound of the exponents, to the base 2."""
        logit = float(np.abs(self.key_rows[self.width]).max())
        return longest(self.query_rows[:-1]) * longest(self.keys.points) + logit

    def block(self) -> int:
        """How many positions share a block: more where there are more expansions to interrupt."""
        expanded, _, _ = self.plan(_FIRST_BLOCK)
        pauses = 2 * len(expanded) * self._pause / _PAIR
        block = round(math.sqrt(pauses) / _SMALLEST) * _SMALLEST
        return min(max(block, _SMALLEST), _LARGEST)

    @property
    def _pause(self) -> float:
        """Nanoseconds that an expansion loses where a block ends."""
        return _BREAK * self.channels * float(np.median(self.basis.table[1]))

    def plan(self, block: int) -> tuple[Integers, Integers, Array]:
        """Pairs of nodes to expand and to sum directly, and counts, as `tree_choice` has them."""
        from vlasov.engines import tree_choice  # compiles

        table = self.basis.table * [[1.0], [float(self.channels)]]
        queries, keys, costs = self.queries, self.keys, list(_COSTS)
        costs.insert(3, self._pause * self.count / block)
        scene = (queries.spans, queries.facts, self.aims, keys.spans, keys.facts, table)
        rule = (float(queries.first_leaf), float(keys.first_leaf), self.dropped, *costs)
        root, counts = np.zeros((1, 2), dtype=np.int64), np.zeros(4)
        expanded, direct, _ = tree_choice.plan(scene, rule, root, 2**62, counts)
        return expanded, direct, counts


def _seen_keys(queries: Grown, keys: Grown, begin: int) -> Array:
    """For every query node a key of a large exponent that all of its queries see."""
    from vlasov.engines import tree_causal_search  # compiles

    count, d = len(queries.spans), len(keys.points)
    found = np.full(count, np.argmin(keys.order)), np.empty((count, d + 1))
    search = partial(
        tree_causal_search.search_seen,
        (queries.facts, firsts(queries, begin)),
        (
            *(keys.points, keys.logits, keys.order),
            *(keys.spans, keys.facts, firsts(keys, 0), keys.first_leaf),
        ),
        found,
    )
    for level in range(queries.depth + 1):
        first = 2**level - 1
        in_threads(lambda r, f=first: search((f + r[0], f + r[1])), 2**level, _SEARCH * 2**level)
    return found[1]


def _rows(*parts: Array) -> Array:
    """The rows one after the other, each in one piece."""
    parts = tuple(np.atleast_2d(part) for part in parts)
    rows, begin = spacious(sum(map(len, parts)), parts[0].shape[1]), 0
    for part in parts:
        rows[begin : begin + len(part)] = part
        begin += len(part)
    return rows


def _shifts(queries: Grown, aims: Array) -> Array:
    """The exponent of every query, by position, at the key of its leaf."""
    leaves = slice(queries.first_leaf, None)
    sizes = np.diff(queries.spans[leaves], axis=1)[:, 0]
    own = np.repeat(aims[leaves], sizes, axis=0)
    found = np.empty(len(own))
    found[queries.order] = own[:, -1] + (own[:, :-1].T * queries.points).sum(axis=0)
    return found
