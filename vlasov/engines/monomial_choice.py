r"""Which polynomial, and how many monomials and tokens at a time, a sum about one centre takes.

The polynomial of the lowest degree whose relative error on [-r, r] is at most half the tolerance,
with r rounded up to a grid so that moving clouds use the same few. Rounding moves an average by
at most

.. math:: 2\, (\text{additions})\, u\, e^r \sum_l |p_l|\, r^l + 32\, u\, (16 + \text{exponent}),

about :math:`e^{2r}` units, and may take two fifths of the tolerance.
"""

__all__ = ["Plan", "fewest_monomials", "plan"]

import functools
import math
from dataclasses import dataclass

import numpy as np

from vlasov.engines.expansion import ROUNDING, Array, relative_error, relative_fit
from vlasov.engines.monomial_basis import Basis, basis
from vlasov.errors import EngineUnsupported

_UNIT = float(np.finfo(np.float64).eps) / 2
_HIGHEST, _MOST = 24, 100_000
"""The largest degree, and the largest number of monomials."""
_LARGEST = 7.0
"""Exponents beyond which no polynomial of such a degree is certified."""
_SHARE = 0.4
"""Of the tolerance, for rounding."""
_GRID = 16
"""Radii in a factor of two."""
_SMALLEST = 2.0**-8
_NUMBERS = 2**19
"""Numbers in the arrays of one block of tokens; these fit the cache of a core."""
_SHORTEST, _LONGEST = 32, 1024


@dataclass(frozen=True, eq=False)
class Plan:
    """A polynomial as `coefficients` of the monomials (outer, inner) on the unit ball.

    `block` tokens are taken at a time; `relative` bounds the error of an average relative to the
    largest distance of a value from it.
    """

    outer: Basis
    inner: Basis
    coefficients: Array
    block: int
    relative: float

    @property
    def monomials(self) -> int:
        """Their number."""
        return int(np.count_nonzero(self.coefficients))


def plan(d: int, r: float, tolerance: float, *, exponent: float, keys: int, columns: int) -> Plan:
    """How to sum exponentials of at most r in d coordinates, for `columns` sums over `keys`.

    `exponent` is the largest before they were seen from centres.

    Raises:
        EngineUnsupported: if no polynomial holds the tolerance, or it has too many monomials.
    """
    degree, fit, error = _polynomial(_rounded_up(r, tolerance), tolerance / 2)
    count = math.comb(d + degree, d)
    if count > _MOST:
        raise EngineUnsupported(
            f"Engine 'monomials' needs {count} monomials (degree {degree}, width {d}) for "
            f"exponents up to {r:.2g} at a tolerance of {tolerance:.1e}, and takes at most "
            f"{_MOST}; use engine 'fused', or a larger tolerance."
        )
    last = min(2, d // 3)
    outer, inner = basis(d - last, degree), basis(last, degree)
    block = _NUMBERS // (outer.size + 2 * inner.size * columns)
    block = min(max(block, _SHORTEST), _LONGEST)
    terms = fit * r ** np.arange(degree + 1)
    additions = block + keys // block + outer.size + inner.size + 2 * degree + 8
    rounding = additions * _UNIT * math.exp(r) * float(np.abs(terms).sum())
    rounding = 2 * rounding + 2 * ROUNDING * (16 + exponent / math.log(2))
    if rounding > tolerance * _SHARE:
        raise _refusal(
            f"for exponents of {exponent:.1e}, {r:.2g} about one centre: rounding alone leaves "
            f"{rounding / _SHARE:.1e}",
            tolerance,
        )
    relative = error / (1 - error) + rounding
    return Plan(outer, inner, _coefficients(terms, outer, inner), block, relative)


def fewest_monomials(d: int, r: float, tolerance: float) -> int:
    """How many hold a tolerance for exponents of at most r, if rounding allows it at all."""
    try:
        degree, _, _ = _polynomial(_rounded_up(r, tolerance), tolerance / 2)
    except EngineUnsupported:
        return _MOST
    return math.comb(d + degree, d)


def _rounded_up(r: float, tolerance: float) -> float:
    if not r <= _LARGEST:
        raise _refusal(f"for exponents of {r:.1e} about one centre", tolerance)
    return max(_SMALLEST, 2.0 ** (math.ceil(_GRID * math.log2(max(r, _SMALLEST))) / _GRID))


@functools.lru_cache(maxsize=256)
def _polynomial(r: float, accuracy: float) -> tuple[int, Array, float]:
    """The lowest degree that is certified on [-r, r], its coefficients and its error."""
    for degree in range(1, _HIGHEST + 1):
        fit = relative_fit(degree, r)
        error = relative_error(fit, r)
        if error <= accuracy:
            return degree, fit, error
    raise _refusal(f"for exponents of {r:.1e} about one centre", 2 * accuracy)


def _coefficients(terms: Array, outer: Basis, inner: Basis) -> Array:
    r"""The numbers :math:`p_l r^l\, l!/\alpha!` by outer and inner one; 0 beyond the degree."""
    scaled = np.zeros(2 * len(terms))
    scaled[: len(terms)] = [x * math.factorial(level) for level, x in enumerate(terms)]
    level = outer.levels[:, None] + inner.levels[None, :]
    return scaled[level] * outer.inverse_factorials[:, None] * inner.inverse_factorials


def _refusal(where: str, tolerance: float) -> EngineUnsupported:
    return EngineUnsupported(
        f"Engine 'monomials' cannot hold a tolerance of {tolerance:.1e} {where}. Ask for a larger "
        "one, or use engine 'fused' ('tree' for widths up to 8)."
    )
