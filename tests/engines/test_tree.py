"""The certified engine: its laws and its refusals."""

import pytest
import torch

from vlasov.attention.masks import Alibi, Causal, Window
from vlasov.engines import Auto, Direct, Fused, Tree
from vlasov.engines.engine_report import collecting
from vlasov.errors import EngineUnsupported, InvalidValue, NotFinite

pytestmark = pytest.mark.usefixtures("unchecked_types")


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
