"""The certified engine: its bounds against wider sums, its laws, its refusals."""

import numpy as np
import pytest
import torch

from vlasov.attention.masks import Alibi, Causal, Window
from vlasov.engines import Auto, Direct, Fused, Tree
from vlasov.engines.engine_report import collecting
from vlasov.engines.expansion import ROUNDING
from vlasov.engines.tree_sums import certified_sum, smallest_tolerance
from vlasov.errors import EngineUnsupported, InvalidValue, NotFinite

pytestmark = pytest.mark.usefixtures("unchecked_types")

KINDS = ("ball", "clumps", "line", "lattice", "outlier", "coinciding", "two scales", "sphere")


def _cloud(kind, n, d, rng):
    x = rng.standard_normal((n, d))
    if kind == "clumps":
        x = 1e-3 * x + rng.standard_normal((5, d))[rng.integers(0, 5, n)]
    elif kind == "line":
        x = x[:, :1] * rng.standard_normal((1, d))
    elif kind == "lattice":
        x = np.round(3 * x) / 3
    elif kind == "outlier":
        x[rng.integers(n)] *= 30
    elif kind == "coinciding":
        x = x[rng.integers(0, min(3, n), n)]
    elif kind == "two scales":
        x[: n // 2] *= 1e-6
    elif kind == "sphere":
        x /= np.linalg.norm(x, axis=1, keepdims=True)
    return x


def _exact(q, k, v, logits, rows):
    """Averages and log-sums of some rows in extended precision."""
    q, k, v, logits = (x.astype(np.longdouble) for x in (q, k, v, logits))
    scores = q[rows] @ k.T + logits
    top = scores.max(axis=1, keepdims=True)
    weights = np.exp(scores - top)
    total = weights.sum(axis=1, keepdims=True)
    return weights @ v / total, (np.log(total) + top)[:, 0]


def _draw(rng):
    """A random adversarial sum that rounding leaves room for, and its tolerance."""
    d, n, m = int(rng.integers(1, 4)), int(rng.integers(1, 700)), int(rng.integers(1, 700))
    kinds = [KINDS[i] for i in rng.integers(0, len(KINDS), 2)]
    q, k = _cloud(kinds[0], n, d, rng), _cloud(kinds[1], m, d, rng)
    q *= 10 ** rng.uniform(-3, 2) / max(np.linalg.norm(q, axis=1).max(), 1e-300)
    v = rng.standard_normal((m, int(rng.integers(1, 4)))) * 10 ** rng.uniform(-3, 3)
    logits = rng.standard_normal(m) * rng.choice([0.0, 1.0, 100.0])
    return (q, k, v, logits), 10.0 ** rng.integers(-11, -1)


def _exponent(q, k, logits):
    longest = [np.linalg.norm(x, axis=1).max() for x in (q, k)]
    return (longest[0] * longest[1] + np.ptp(logits)) / np.log(2)


def _assert_bounds_hold(seed):
    (q, k, v, logits), tolerance = _draw(np.random.default_rng(seed))
    logits = logits - logits.max()
    if tolerance < smallest_tolerance(_exponent(q, k, logits)):
        with pytest.raises(EngineUnsupported, match="rounding"):
            Tree(tolerance).average(*(torch.from_numpy(x) for x in (q, k, v, logits)))
        return
    found = certified_sum(q, k, v, logits, tolerance)
    rows = np.arange(0, len(q), max(1, len(q) // 8))
    averages, logs = _exact(q, k, v, logits, rows)
    off = np.linalg.norm((found.averages[rows] - averages).astype(float), axis=1)
    assert (off <= found.bounds[rows]).all()
    assert np.abs(found.logs[rows] - logs).max() <= found.log_bound
    farthest = np.linalg.norm(v[None] - found.averages[rows][:, None], axis=2).max(axis=1)
    allowed = 3 * tolerance * farthest + 4 * ROUNDING * np.abs(v).max()
    assert (found.bounds[rows] <= allowed).all()


@pytest.mark.parametrize("seed", range(20))
def test_no_error_exceeds_its_bound(seed):
    for draw in range(100):
        _assert_bounds_hold(1000 * seed + draw)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
def test_no_error_exceeds_its_bound_in_many_draws(seed):
    for draw in range(1000):
        _assert_bounds_hold(10**6 + 1000 * seed + draw)


def _operands(n, *, d=2, size=3.0, seed=0):
    g = torch.Generator().manual_seed(seed)
    q, k, v = (torch.randn(1, n, d, generator=g, dtype=torch.float64) for _ in range(3))
    return size * q, k, v, torch.randn(1, n, generator=g, dtype=torch.float64)


@pytest.mark.parametrize("mask", ["causal", "ties", "alibi"])
def test_causal_sums_stay_within_the_tolerance(mask):
    n = 5_000
    q, k, v, logits = _operands(n)
    positions = torch.arange(float(n), dtype=torch.float64)[None]
    if mask == "ties":
        positions = (positions / 1000).floor()
    rule = Alibi(0.01, causal=True) if mask == "alibi" else Causal()
    view = rule.bind(positions, positions)
    wanted, found = (e.average(q, k, v, logits, mask=view) for e in (Fused(), Tree(1e-7)))
    assert (found - wanted).abs().max() < 1e-7 * 10
    logs = [e.log_sum(q, k, logits, mask=view) for e in (Fused(), Tree(1e-7))]
    assert (logs[0] - logs[1]).abs().max() < 1e-7


def test_large_clouds_are_expanded_and_reported():
    q, k, v, logits = _operands(20_000)
    with collecting() as reports:
        found = Tree(1e-6).average(q, k, v, logits)
    (report,) = reports
    assert report.expanded > 0.5
    assert report.pruned + report.expanded + report.direct == pytest.approx(1.0, abs=1e-12)
    wanted = Direct().average(q, k, v, logits)
    assert (found - wanted).norm(dim=-1).max() <= report.bound


def test_the_answer_depends_neither_on_threads_nor_on_neighbours():
    q, k, v, logits = (torch.cat([x, 2 * x]) for x in _operands(3_000))
    threads = torch.get_num_threads()
    try:
        torch.set_num_threads(1)
        alone = Tree().average(q, k, v, logits)
        torch.set_num_threads(3)
        assert torch.equal(alone, Tree().average(q, k, v, logits))
    finally:
        torch.set_num_threads(threads)
    assert torch.equal(Tree().average(q[1:], k[1:], v[1:], logits[1:])[0], alone[1])


def test_single_precision_is_summed_in_double():
    operands = [x.float() for x in _operands(2_000)]
    wanted = Direct().average(*(x.double() for x in operands))
    # the rounding of centred keys: the scores are up to about 40
    assert (Tree().average(*operands) - wanted).abs().max() < 40 * 6e-8


def test_absent_keys_and_a_single_token():
    q, k, v, logits = _operands(500)
    logits[0, ::2] = -torch.inf
    found = Tree().average(q, k, v, logits)
    wanted = Tree().average(q, k[:, 1::2], v[:, 1::2], logits[:, 1::2])
    assert torch.equal(found, wanted)
    q, k, v = (x[:, :1] for x in (q, k, v))
    assert torch.equal(Tree().average(q, k, v, torch.zeros(1, 1, dtype=torch.float64)), v)


def test_values_wider_than_keys():
    q, k, _, logits = _operands(3_000)
    v = torch.randn(1, 3_000, 7, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    found = Tree(1e-9).average(q, k, v, logits)
    assert (found - Direct().average(q, k, v, logits)).abs().max() < 1e-8


def test_auto_takes_the_trees_for_very_large_clouds_that_leave_room(monkeypatch):
    seen = []
    original = Tree._average
    monkeypatch.setattr(Tree, "_average", lambda self, p: seen.append(p) or original(self, p))
    operands = _operands(20_000)
    Auto().average(*operands)
    assert len(seen) == 1
    q, k, v, logits = operands
    Auto().average(1e6 * q[:, :2000], k, v, logits)
    Auto().average(q[:, :2_000], k[:, :2_000], v[:, :2_000], logits[:, :2_000])
    assert len(seen) == 1


def test_what_it_cannot_sum_is_refused_by_name():
    q, k, v, logits = _operands(4)
    positions = torch.arange(4.0, dtype=torch.float64)[None]
    with pytest.raises(EngineUnsupported, match="window"):
        Tree().average(q, k, v, logits, mask=Window(2.0).bind(positions, positions))
    with pytest.raises(EngineUnsupported, match=r"gradient.*fused"):
        Tree().average(q.requires_grad_(), k, v, logits)
    with pytest.raises(EngineUnsupported, match="width 9"):
        Tree().average(*_operands(4, d=9))
    with pytest.raises(EngineUnsupported, match="no exponential"):
        Tree().pair_sum(torch.sigmoid, q, k, v, logits)
    with pytest.raises(EngineUnsupported, match="leaders"):
        Tree().leader_average(q, k, v, logits, tie=0.0)
    with pytest.raises(InvalidValue, match="tolerance"):
        Tree(0.0)
    with pytest.raises(NotFinite, match="tree"):
        Tree().average(q.detach() * torch.nan, k, v, logits)
    with pytest.raises(EngineUnsupported, match="rounding alone leaves"):
        Tree(1e-12).average(1e4 * q.detach(), k, v, logits)
