"""Polynomials as the causal walk takes them: chains of powers in whole registers."""

__all__ = ["CausalBasis", "causal_basis"]

import functools
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from vlasov.engines.expansion import expansion

Array = npt.NDArray[np.floating[Any]]
Integers = npt.NDArray[np.int64]


class CausalBasis(NamedTuple):
    """The stems and slots of every polynomial of an `Expansion`.

    Polynomial m has the stems ``starts[m, 0]`` to ``starts[m + 1, 0]`` and the slots
    ``starts[m, 1]`` to ``starts[m + 1, 1]``. `stems` are rows (number of the stem that a last
    factor makes this one, that factor, where its chain begins, its length); `slots`, of a register
    of terms each, rows (stem, power of the last coordinate that the register begins with). There
    is a register of `coefficients` for each slot; those of terms too many are 0.
    """

    starts: Integers
    stems: Integers
    slots: Integers
    coefficients: Array

    @property
    def terms(self) -> int:
        """Terms of the largest polynomial, with those too many."""
        return self.most[1] * len(self.coefficients) // len(self.slots)

    @property
    def most(self) -> tuple[int, int]:
        """Stems and slots of the largest polynomial."""
        stems, slots = np.diff(self.starts, axis=0).max(axis=0).tolist()
        return stems, slots


@functools.lru_cache(maxsize=64)
def causal_basis(d: int, accuracy: float, wide: int, together: int) -> CausalBasis:
    """The polynomials of an expansion, for registers of so many numbers, so many at a time."""
    whole = expansion(d, accuracy)
    starts, stems, slots, coefficients = [(0, 0)], list[Any](), list[Any](), list[Any]()
    for first, end in zip(whole.starts, whole.starts[1:], strict=False):
        latest, begin = dict[int, int](), len(slots)
        for row in range(first, end):
            level, side, at = whole.stems[row].tolist()
            chain = np.trim_zeros(whole.coefficients[at : whole.stems[row + 1, 2]], "b")
            latest[level] = row - first
            stems.append((latest.get(level - 1, 0), side, (len(slots) - begin) * wide, len(chain)))
            count = -(-len(chain) // wide)
            slots += [(row - first, wide * i) for i in range(count)]
            coefficients += [*chain, *[0.0] * (count * wide - len(chain))]
        spare = (begin - len(slots)) % together
        slots += [(0, 0)] * spare
        coefficients += [0.0] * (spare * wide)
        starts.append((len(stems), len(slots)))
    return CausalBasis(np.array(starts), np.array(stems), np.array(slots), np.array(coefficients))
