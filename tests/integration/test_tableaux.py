"""The coefficient tables: exact order conditions, and tableaux that are refused."""

import itertools
from fractions import Fraction

import pytest
from zoo import scalar

from vlasov.errors import InvalidValue, ShapeMismatch
from vlasov.integration import FixedStep, Plan, RungeKutta4, Tableau, integrate
from vlasov.integration.tableaux import TABLES

# Decimal coefficients have 15 digits; products of four of them, up to 13 in size, round at 1e-12.
DECIMAL = 1e-12


def trees(order: int) -> list[tuple]:
    """Rooted trees with `order` vertices, each the sorted tuple of the subtrees at its root."""
    if order == 1:
        return [()]
    return sorted({tuple(sorted(f)) for f in forests(order - 1)})


def forests(vertices: int) -> list[tuple]:
    if vertices == 0:
        return [()]
    return [
        (tree, *rest)
        for size in range(1, vertices + 1)
        for tree, rest in itertools.product(trees(size), forests(vertices - size))
    ]


def vertices(tree: tuple) -> int:
    return 1 + sum(vertices(sub) for sub in tree)


def density(tree: tuple) -> int:
    product = vertices(tree)
    for sub in tree:
        product *= density(sub)
    return product


def stage_weights(tableau: Tableau, tree: tuple) -> list:
    """The elementary weight of a tree at every stage."""
    at_stage = [1] * len(tableau.nodes)
    for sub in tree:
        inner = stage_weights(tableau, sub)
        sums = [
            sum((a * b for a, b in zip(row, inner, strict=False)), Fraction(0))
            for row in tableau.rows
        ]
        at_stage = [a * b for a, b in zip(at_stage, sums, strict=True)]
    return at_stage


def defect(tableau: Tableau, weights, tree: tuple):
    total = sum(b * w for b, w in zip(weights, stage_weights(tableau, tree), strict=True))
    return abs(total - Fraction(1, density(tree)))


def test_counts_of_rooted_trees():
    assert [len(trees(order)) for order in range(1, 10)] == [1, 1, 2, 4, 9, 20, 48, 115, 286]


@pytest.mark.parametrize("name", TABLES)
def test_order_conditions_hold_up_to_the_order_and_no_further(name):
    method = TABLES[name]
    tableau, allowed = method.tableau, DECIMAL if name in {"tsit5", "dop853"} else 0
    for order in range(1, method.order + 1):
        assert all(defect(tableau, tableau.weights, tree) <= allowed for tree in trees(order))
    assert any(defect(tableau, tableau.weights, tree) > 1e-6 for tree in trees(method.order + 1))


@pytest.mark.parametrize("name", [name for name in TABLES if TABLES[name].embedded_order])
def test_embedded_order_conditions_hold_and_no_further(name):
    method = TABLES[name]
    tableau, allowed = method.tableau, DECIMAL if name in {"tsit5", "dop853"} else 0
    embedded = [b - e for b, e in zip(tableau.weights, tableau.error_weights, strict=True)]
    for order in range(1, method.embedded_order + 1):
        assert all(defect(tableau, embedded, tree) <= allowed for tree in trees(order))
    assert any(defect(tableau, embedded, tree) > 1e-6 for tree in trees(method.embedded_order + 1))


@pytest.mark.parametrize("name", TABLES)
def test_last_stage_is_reused_in_three_tables(name):
    assert TABLES[name].tableau.first_same_as_last == (name in {"bosh3", "dopri5", "tsit5"})


@pytest.mark.parametrize(
    ("rows", "nodes", "weights", "error_weights", "phrase"),
    [
        (((), (1, 0)), (0, 1), (1, 0), None, "row 1 must have 1 entries"),
        (((), (1,)), (0, 0.5), (1, 0), None, "sum to its node"),
        (((), (1,)), (0, 1, 1), (1, 0), None, "2 rows need 2 nodes"),
        (((), (1,)), (0, 1), (1,), None, "2 rows need 2 weights"),
        (((), (1,)), (0, 1), (0.5, 0.4), None, "weights must sum to 1"),
        (((), (1,)), (0, 1), (0.5, 0.5), (0.5,), "2 rows need 2 error weights"),
        (((), (1,)), (0, 1), (0.5, 0.5), (0.5, 0.5), "error weights must sum to 0"),
    ],
)
def test_wrong_tableaux_are_refused(rows, nodes, weights, error_weights, phrase):
    with pytest.raises(InvalidValue, match=phrase):
        Tableau(rows, nodes, weights, error_weights)


def test_b07_rk4_is_the_classic_scheme():
    outcome = integrate(scalar(lambda t, y: y * y, 1.0, 0.1), Plan(RungeKutta4(), FixedStep(0.1)))
    assert outcome.state.x.item() == pytest.approx(1.1111104900521944, abs=1e-15)


@pytest.mark.parametrize(("dt", "error"), [(0.1, -3.67e-5), (0.05, -2.39e-6), (0.025, -1.51e-7)])
def test_b07_errors_of_rk4(dt, error):
    outcome = integrate(scalar(lambda t, y: y * y, 1.0, 0.5), Plan(RungeKutta4(), FixedStep(dt)))
    assert outcome.state.x.item() - 2.0 == pytest.approx(error, rel=5e-3)


def test_the_coarse_estimate_of_dop853_is_of_order_three():
    tableau = TABLES["dop853"].tableau
    coarse = [b - e for b, e in zip(tableau.weights, tableau.coarse_error_weights, strict=True)]
    low, high = [max(defect(tableau, coarse, tree) for tree in trees(o)) for o in (3, 4)]
    assert low <= DECIMAL < 1e-6 < high


def test_a_field_of_the_wrong_shape_is_refused():
    problem = scalar(lambda t, y: y.sum(-1), 1.0, 1.0)
    with pytest.raises(ShapeMismatch, match="one velocity per coordinate"):
        integrate(problem, Plan(RungeKutta4(), FixedStep(0.1)))
