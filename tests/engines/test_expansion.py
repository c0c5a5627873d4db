"""Polynomials for the exponential: as accurate as promised, on nearly the widest interval."""

import itertools

import numpy as np
import pytest

from vlasov.engines.expansion import DEGREES, expansion, relative_error, relative_fit

ACCURACIES = [2.5e-2, 2.5e-4, 2.5e-7, 2.5e-9, 2.5e-12]


def by_halving(degree: int, accuracy: float, high: float) -> float:
    """The largest radius, slow and obvious."""
    low = 0.0
    for _ in range(30):
        middle = (low + high) / 2
        fits = relative_error(relative_fit(degree, middle), middle) <= accuracy
        low, high = (middle, high) if fits else (low, middle)
    return low


@pytest.mark.parametrize(("degree", "accuracy"), list(itertools.product(DEGREES, ACCURACIES)))
def test_the_radius_of_a_degree_is_nearly_the_largest(degree: int, accuracy: float) -> None:
    found = expansion(2, accuracy)
    radius = float(found.table[0, DEGREES.index(degree)])
    widest = by_halving(degree, accuracy, max(2 * radius, 1e-3))
    assert radius == pytest.approx(min(widest, found.table[0].max()), rel=0.03)


@pytest.mark.parametrize("accuracy", ACCURACIES)
def test_errors_are_below_the_accuracy_and_hold_on_a_finer_grid(accuracy: float) -> None:
    found = expansion(1, accuracy)  # one chain for each degree: the polynomial itself
    for m, (radius, error) in enumerate(zip(found.table[0], found.errors, strict=True)):
        u = np.linspace(-radius, radius, 100_001)
        begin, end = found.stems[found.starts[m] : found.starts[m] + 2, 2]
        polynomial = np.polynomial.Polynomial(found.coefficients[begin:end])
        assert np.abs(polynomial(u) * np.exp(-u) - 1).max() <= error <= accuracy


def test_an_accuracy_below_rounding_is_met_on_a_point_alone() -> None:
    found = expansion(2, 1e-15)
    assert (found.table[0] == 0).all()
    assert (found.errors == 0).all()
