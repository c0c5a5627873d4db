"""No error of a certified sum exceeds its bound, whatever the cloud; against wider sums."""

import dataclasses

import numpy as np
import pytest
import torch
from adversarial import draw, exact, exponent

from vlasov.engines.certified import certified_whole
from vlasov.engines.expansion import ROUNDING
from vlasov.engines.pairs import Pairs
from vlasov.engines.tree_causal import fits_walk, walked
from vlasov.engines.tree_halves import by_halves
from vlasov.engines.tree_sums import certified_sum, check, trees_over
from vlasov.errors import EngineUnsupported, NotConverged

pytestmark = pytest.mark.usefixtures("unchecked_types")


def _sums(operands, tolerance, *, causal, values=True):
    """The sums as arrays; None where rounding leaves no room, which must be refused."""
    q, k, v, logits = (torch.from_numpy(x) for x in operands)
    pairs = Pairs(q, k, v if values else v[:, :0], logits)
    if tolerance < 4 * ROUNDING * (16 + exponent(operands[0], operands[1], operands[3])):
        if not causal:
            with pytest.raises(EngineUnsupported, match="rounding"):
                certified_whole(tolerance, pairs)
        return None
    found = by_halves(tolerance, pairs, end=8) if causal else certified_whole(tolerance, pairs)
    return [x.numpy() for x in found]


def _assert_bounds_hold(seed, *, causal, largest):
    rng = np.random.default_rng(seed)
    operands, tolerance = draw(rng, causal=causal, largest=largest)
    alone = bool(rng.integers(2))  # log-sums without values
    found = _sums(operands, tolerance, causal=causal, values=not alone)
    if found is None:
        return
    rows = np.arange(0, len(operands[0]), max(1, len(operands[0]) // 8))
    _assert_within(operands, [x[rows] for x in found], rows, causal=causal, alone=alone)
    if not (causal or alone):
        _assert_small(operands, tolerance, [x[rows] for x in found], rows, causal=causal)


def _assert_within(operands, found, rows, *, causal, alone=False):
    """Some rows of the sums are no farther from exact ones than they say."""
    q, k, v, logits = operands
    averages, logs = exact(q, k, v, logits, rows, causal=causal)
    assert (np.abs(found[1] - logs) <= found[3]).all()
    off = np.linalg.norm((found[0] - averages).astype(float), axis=1) if not alone else 0.0
    assert (off <= found[2]).all()


def _assert_small(operands, tolerance, found, rows, *, causal):
    """The bounds are what the tolerance promises, from the values that a query sees."""
    v = operands[2]
    apart = np.linalg.norm(v[None] - found[0][:, None], axis=2)
    if causal:
        apart[np.arange(len(v))[None] > rows[:, None]] = 0.0
    allowed = 3 * tolerance * apart.max(axis=1) + 4 * ROUNDING * np.abs(v).max()
    assert (found[2] <= allowed).all()


def _assert_bounds_of_a_walk_hold(seed, *, largest):
    rng = np.random.default_rng(seed)
    operands, tolerance = draw(rng, causal=True, largest=largest)
    pairs, n = Pairs(*(torch.from_numpy(x) for x in operands)), len(operands[0])
    if n < 2 or not fits_walk(tolerance, pairs):
        return False
    begin, block = int(rng.integers(1, n)), int(rng.integers(1, n))
    found = [x.numpy() for x in walked(tolerance, pairs, begin=begin, block=block)]
    rows = np.unique(np.linspace(begin, n - 1, 8).astype(np.int64))
    some = [x[rows - begin] for x in found]
    _assert_within(operands, some, rows, causal=True)
    _assert_small(operands, tolerance, some, rows, causal=True)
    return True


@pytest.mark.parametrize("causal", [False, True], ids=["whole", "causal"])
@pytest.mark.parametrize("seed", range(4))
def test_no_error_exceeds_its_bound(seed, causal):
    for i in range(500):
        _assert_bounds_hold(1000 * seed + i, causal=causal, largest=24 if causal else 150)


@pytest.mark.slow
@pytest.mark.parametrize("causal", [False, True], ids=["whole", "causal"])
@pytest.mark.parametrize("seed", range(20))
def test_no_error_exceeds_its_bound_in_many_draws(seed, causal):
    for i in range(1000):
        _assert_bounds_hold(10**6 + 1000 * seed + i, causal=causal, largest=60 if causal else 700)


@pytest.mark.parametrize("largest", [60, 800])
def test_no_error_of_a_causal_walk_exceeds_its_bound(largest):
    held = [_assert_bounds_of_a_walk_hold(i, largest=largest) for i in range(200)]
    assert sum(held) > 100  # the others leave no room for rounding, or have too large exponents


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
def test_no_error_of_a_causal_walk_exceeds_its_bound_in_many_draws(seed):
    for i in range(1000):
        _assert_bounds_of_a_walk_hold(10**6 + 1000 * seed + i, largest=[60, 800][i % 2])


@pytest.mark.parametrize("column", ["averages", "logs"])
def test_a_sum_that_breaks_its_bound_is_caught(column):
    x = torch.randn(500, 2, generator=torch.Generator().manual_seed(0)).double().numpy()
    found = certified_sum(trees_over(x, x), x, np.zeros(500), 1e-6)
    check(found)
    wrong = dataclasses.replace(found, **{column: getattr(found, column) + 1e-3})
    with pytest.raises(NotConverged, match=r"promised errors below .* Please report this"):
        check(wrong)
