r"""Polynomials for the exponential on an interval, with a certified relative error.

.. math:: |p_m(u)\, e^{-u} - 1| \le \varepsilon \quad\text{for } |u| \le r_m, \qquad
          u^l = \sum_{|\alpha| = l} \frac{l!}{\alpha!}\, x^\alpha y^\alpha
          \quad\text{for } u = \langle x, y\rangle

The second identity turns a polynomial of scores into moments. A monomial is a product of powers of
all coordinates but the last (a stem), times a power of the last one (a chain). Stems come in
depth-first order: each is the latest one on the level above it times one coordinate.

Source: spec, engines page, "The certified near-linear engine".
"""

__all__ = [
    "DEGREES",
    "GROUP",
    "LONGEST",
    "ROUNDING",
    "Expansion",
    "expansion",
    "relative_error",
    "relative_fit",
]

import functools
import itertools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.floating[Any]]
Integers = npt.NDArray[np.int64]

DEGREES = (3, 5, 7, 9, 11, 13, 15, 19)
_FEW = (2, 3, 4, 5, 6)
"""Degrees worth having in up to three dimensions, and in more."""
GROUP = 4
"""Powers that are taken at a time: chains are padded to a multiple of it."""
LONGEST = -(-(DEGREES[-1] + 1) // GROUP) * GROUP
"""Coefficients of the longest chain, padded."""
ROUNDING = 16 * np.finfo(np.float64).eps / 2
"""A bound of the relative rounding of one weight, per unit of e^(2 r) or of its exponent."""
_LARGEST = 7.0
_GRID = 2000
_GUESSES, _NEAR, _AIM = 16, 0.95, 0.98
"""Radii tried at most; the error that is near enough to the accuracy, and aimed at, relative."""


@dataclass(frozen=True, eq=False)
class Expansion:
    r"""The polynomials for one accuracy in one dimension.

    Polynomial m is good up to ``table[0, m]`` and has ``table[1, m]`` coefficients. Its stems are
    the rows ``starts[m]`` to ``starts[m + 1]`` of `stems`: the degree, the last factor, and where
    the chain begins in `coefficients` (:math:`p_l\, l!/\alpha!`); the last row is the end.
    """

    table: Array
    errors: Array
    starts: Integers
    stems: Integers
    coefficients: Array


@functools.lru_cache(maxsize=64)
def expansion(d: int, accuracy: float) -> Expansion:
    """The polynomials of every degree whose relative error stays below `accuracy`."""
    degrees = DEGREES if d <= 3 else _FEW
    fits = [_widest(degree, accuracy) for degree in degrees]
    parts = [_stems(d, degree, fit[1]) for degree, fit in zip(degrees, fits, strict=True)]
    stems = [stem for part in parts for stem in part]
    ends = [0, *itertools.accumulate(len(chain) for _, _, chain in stems)]
    rows = [(level, side, end) for (level, side, _), end in zip(stems, ends, strict=False)]
    starts = np.array([0, *itertools.accumulate(map(len, parts))])
    return Expansion(
        table=np.array([[radius for radius, _, _ in fits], np.diff(np.array(ends)[starts])]),
        errors=np.array([error for _, _, error in fits]),
        starts=starts,
        stems=np.array([*rows, (0, 0, ends[-1])]),
        coefficients=np.array([c for _, _, chain in stems for c in chain]),
    )


def relative_fit(degree: int, radius: float) -> Array:
    """Coefficients, lowest power first, of a polynomial of small relative error on [-r, r].

    Least squares of :math:`p(u) e^{-u} - 1` at Chebyshev nodes, whose weights make it nearly
    minimax.
    """
    nodes = np.cos(np.pi * (np.arange(8 * degree + 8) + 0.5) / (8 * degree + 8))
    basis = np.polynomial.chebyshev.chebvander(nodes, degree) * np.exp(-radius * nodes)[:, None]
    solution = np.linalg.lstsq(basis, np.ones(len(nodes)), rcond=None)[0]
    return np.polynomial.chebyshev.cheb2poly(solution) / radius ** np.arange(degree + 1)


def relative_error(coefficients: Array, radius: float) -> float:
    r"""A bound of :math:`\max |p(u) e^{-u} - 1|` on [-r, r].

    The largest value on a grid of spacing h, plus :math:`h^2/8` times a bound of the second
    derivative: the sum of the absolute terms of :math:`(p'' - 2p' + p)\, e^{-u}` at u = r.
    """
    u = np.linspace(-radius, radius, _GRID + 1)
    p = np.polynomial.Polynomial(coefficients)
    bend = p.deriv(2) - 2 * p.deriv() + p
    steep = float(np.abs(bend(u) * np.exp(-u)).max())
    third = bend.deriv() - bend
    steeper = float(np.polynomial.Polynomial(np.abs(third.coef))(radius)) * math.exp(radius)
    h = 2 * radius / _GRID
    return float(np.abs(p(u) * np.exp(-u) - 1).max()) + h**2 / 8 * (steep + h / 2 * steeper)


@functools.cache
def _widest(degree: int, accuracy: float) -> tuple[float, Array, float]:
    """Nearly the largest radius on which a degree meets the accuracy.

    The error grows like the power `degree` + 1 of the radius, from which the next one is guessed.
    """
    # evaluating loses about e^(2 r) units of rounding
    high = min(_LARGEST, math.log(max(accuracy / ROUNDING, 1.0)) / 2)
    best, radius = (0.0, np.eye(1, degree + 1)[0], 0.0), high
    for _ in range(_GUESSES if high else 0):
        fit = relative_fit(degree, radius)
        error = relative_error(fit, radius)
        if error <= accuracy and radius > best[0]:
            best = (radius, fit, error)
        if error <= accuracy and (error >= _NEAR * accuracy or radius == high):
            break
        radius = min(high, radius * (_AIM * accuracy / error) ** (1 / (degree + 1)))
    return best


def _stems(d: int, degree: int, fit: Array) -> list[tuple[int, int, list[float]]]:
    """Level, last factor and padded chain of coefficients of every stem, depth first."""
    found: list[tuple[int, int, list[float]]] = []

    def visit(powers: tuple[int, ...], last: int) -> None:
        level = sum(powers)
        chain = [fit[level + k] * _multinomial((*powers, k)) for k in range(degree - level + 1)]
        found.append((level, last, chain + [0.0] * (-len(chain) % GROUP)))
        if level < degree:
            for c in range(last, d - 1):
                visit((*powers[:c], powers[c] + 1, *powers[c + 1 :]), c)

    visit((0,) * (d - 1), 0)
    return found


def _multinomial(powers: tuple[int, ...]) -> float:
    return math.factorial(sum(powers)) / math.prod(map(math.factorial, powers))
