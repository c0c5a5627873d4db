"""No error of a certified sum exceeds its bound, whatever the cloud; against wider sums."""

import dataclasses

import numpy as np
import pytest
import torch
from adversarial import draw, exact, exponent

from vlasov.engines.certified import certified_whole
from vlasov.engines.expansion import ROUNDING
from vlasov.engines.pairs import Pairs
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
    q, k, v, logits = operands
    alone = bool(rng.integers(2))  # log-sums without values
    found = _sums(operands, tolerance, causal=causal, values=not alone)
    if found is None:
        return
    rows = np.arange(0, len(q), max(1, len(q) // 8))
    averages, logs = exact(q, k, v, logits, rows, causal=causal)
    assert (np.abs(found[1][rows] - logs) <= found[3][rows]).all()
    if alone:
        return
    off = np.linalg.norm((found[0][rows] - averages).astype(float), axis=1)
    assert (off <= found[2][rows]).all()
    farthest = np.linalg.norm(v[None] - found[0][rows][:, None], axis=2).max(axis=1)
    allowed = 3 * tolerance * farthest + 4 * ROUNDING * np.abs(v).max()
    assert causal or (found[2][rows] <= allowed).all()


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
        _assert_bounds_hold(10**6 + 1000 * seed + i, causal=causal, largest=200 if causal else 700)


@pytest.mark.parametrize("column", ["averages", "logs"])
def test_a_sum_that_breaks_its_bound_is_caught(column):
    x = torch.randn(500, 2, generator=torch.Generator().manual_seed(0)).double().numpy()
    found = certified_sum(trees_over(x, x), x, np.zeros(500), 1e-6)
    check(found)
    wrong = dataclasses.replace(found, **{column: getattr(found, column) + 1e-3})
    with pytest.raises(NotConverged, match=r"promised errors below .* Please report this"):
        check(wrong)
