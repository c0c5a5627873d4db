"""Tokens by level and position, and polynomials in registers, as a causal walk takes them."""

import numpy as np
import pytest
import torch

from vlasov.engines.expansion import expansion
from vlasov.engines.tree_build import grown
from vlasov.engines.tree_causal_basis import causal_basis
from vlasov.engines.tree_positions import Descent, ranked

pytestmark = pytest.mark.usefixtures("unchecked_types")


@pytest.fixture(scope="module")
def tree():
    x = np.random.default_rng(2).normal(size=(3000, 2))
    return grown(x, np.zeros(3000))


def by_node(tree, level):
    """The tokens of the nodes of a level, sorted: slow and obvious."""
    spans = tree.spans[2**level - 1 : 2 ** (level + 1) - 1]
    return np.concatenate([np.sort(tree.order[low:high]) for low, high in spans])


def test_every_level_has_the_tokens_of_its_nodes_in_order(tree):
    rows = np.random.default_rng(3).normal(size=(4, 3000))
    for count in (1, 2):
        threads = torch.get_num_threads()
        torch.set_num_threads(count)
        try:
            found = ranked(tree, rows, np.arange(tree.depth + 1))
        finally:
            torch.set_num_threads(threads)
        for level in range(tree.depth + 1):
            wanted = by_node(tree, level)
            np.testing.assert_array_equal(found.positions[level], wanted)
            np.testing.assert_array_equal(found.rows[level], rows[:, wanted])


def test_a_descent_may_leave_out_levels(tree):
    rows = np.random.default_rng(4).normal(size=(2, 3000))
    descent = Descent(tree, rows)
    for level in (0, 2, 2, tree.depth):
        found, wanted = descent.to(level), by_node(tree, level)
        np.testing.assert_array_equal(found.positions[0], wanted)
        np.testing.assert_array_equal(found.rows[0], rows[:, wanted])


def test_sums_of_levels_are_added_by_position(tree):
    rng = np.random.default_rng(5)
    found = ranked(tree, rng.normal(size=(1, 3000)), np.array([0, 1, 4]))
    sums, wanted = rng.normal(size=(3, 2, 3000)), np.zeros((2, 3000))
    for level, part in zip(found.positions, sums, strict=True):
        wanted[:, level] += part
    np.testing.assert_allclose(found.by_position(sums), wanted, rtol=1e-14)


def monomials(basis, polynomial, x, wide):
    """The monomials of all slots at a point."""
    (stem, slot), (_, end) = basis.starts[polynomial], basis.starts[polynomial + 1]
    stems = [1.0]
    for parent, side, _, _ in basis.stems[stem + 1 : basis.starts[polynomial + 1, 0]]:
        stems.append(stems[parent] * x[side])
    return np.concatenate(
        [
            stems[own] * x[-1] ** np.arange(power, power + wide)
            for own, power in basis.slots[slot:end]
        ]
    )


@pytest.mark.parametrize(
    ("d", "wide", "together"), [(d, *w) for d in (1, 2, 3, 5) for w in ((4, 2), (8, 4))]
)
def test_the_slots_of_every_polynomial_give_the_exponential(d, wide, together):
    accuracy, rng = 1e-6, np.random.default_rng(d)
    basis, radii = causal_basis(d, accuracy, wide, together), expansion(d, accuracy).table[0]
    for polynomial, radius in enumerate(radii):
        first, end = wide * basis.starts[polynomial : polynomial + 2, 1]
        coefficients = basis.coefficients[first:end]
        assert len(coefficients) % (together * wide) == 0
        assert len(coefficients) <= basis.terms
        for _ in range(5):
            x, y = rng.normal(size=(2, d))
            x *= rng.uniform(0, radius) / (np.linalg.norm(x) * np.linalg.norm(y))
            moments = monomials(basis, polynomial, y, wide)
            found = monomials(basis, polynomial, x, wide) @ (moments * coefficients)
            assert found == pytest.approx(np.exp(x @ y), rel=1.01 * accuracy)


@pytest.mark.parametrize("d", [1, 2, 3])
def test_chains_begin_at_their_slots_and_are_as_long_as_their_coefficients(d):
    wide = 8
    basis = causal_basis(d, 1e-6, wide, 4)
    for polynomial in range(len(basis.starts) - 1):
        (stem, slot), (last, end) = basis.starts[polynomial], basis.starts[polynomial + 1]
        whole = basis.coefficients[slot * wide : end * wide]
        covered = np.zeros(len(whole), dtype=bool)
        for _, _, begin, length in basis.stems[stem:last]:
            covered[begin : begin + length] = True
        assert (whole[covered] != 0).all()
        assert (whole[~covered] == 0).all()
