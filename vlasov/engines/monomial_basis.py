r"""All monomials of d coordinates up to a degree, level by level.

.. math:: x^\alpha = x_c\, x^{\alpha - e_c}, \qquad c = \max\{i : \alpha_i > 0\}

Within a level they stand by their last coordinate c, so that those of the next level with the same
last coordinate are :math:`x_c` times a leading part of this one: one product of arrays each.
"""

__all__ = ["Basis", "basis"]

import functools
import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor


@dataclass(frozen=True)
class Basis:
    """The monomials of `d` coordinates up to `degree`."""

    d: int
    degree: int

    @functools.cached_property
    def sizes(self) -> tuple[int, ...]:
        """How many monomials have each degree."""
        return tuple(_count(self.d, level) for level in range(self.degree + 1))

    @functools.cached_property
    def starts(self) -> tuple[int, ...]:
        """Where each degree begins; the last entry is the number of monomials."""
        return (0, *itertools.accumulate(self.sizes))

    @property
    def size(self) -> int:
        """The number of monomials."""
        return self.starts[-1]

    @functools.cached_property
    def levels(self) -> npt.NDArray[np.int64]:
        """The degree of every monomial."""
        return np.repeat(np.arange(self.degree + 1), self.sizes)

    @functools.cached_property
    def inverse_factorials(self) -> npt.NDArray[np.float64]:
        r"""The numbers :math:`1/\alpha!`, by monomial."""
        powers = np.zeros((self.size, self.d), dtype=np.int64)
        for c, here, before in self._steps():
            powers[here] = powers[before]
            powers[here, c] += 1
        factorials = np.array([math.factorial(k) for k in range(self.degree + 1)], dtype=float)
        return 1 / factorials[powers].prod(axis=1)

    def write(self, x: Tensor, out: Tensor) -> Tensor:
        """The monomials (size, n) of points (d, n), written into `out`, which is returned."""
        out[:1] = 1.0
        for c, here, before in self._steps():
            torch.mul(out[before], x[c], out=out[here])
        return out

    def _steps(self) -> Iterator[tuple[int, slice, slice]]:
        """A coordinate, the monomials whose last factor it is, and what it multiplies there."""
        for level in range(1, self.degree + 1):
            first = self.starts[level]
            for c in range(self.d):
                last = first + _count(c + 1, level - 1)
                start = self.starts[level - 1]
                yield c, slice(first, last), slice(start, start + last - first)
                first = last


def _count(d: int, degree: int) -> int:
    """The number of monomials of d coordinates of exactly this degree."""
    return math.comb(d + degree - 1, degree) if d else int(degree == 0)


@functools.lru_cache(maxsize=64)
def basis(d: int, degree: int) -> Basis:
    """The same object for the same numbers: its tables are made once."""
    return Basis(d, degree)
