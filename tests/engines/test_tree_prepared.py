"""Sums over prepared queries and keys are the sums; Sinkhorn attention solves by them."""

import math

import pytest
import torch

from vlasov.attention import Sinkhorn
from vlasov.attention.masks import Window
from vlasov.engines import Auto, Dense, Direct, Tree
from vlasov.engines.engine_report import collecting
from vlasov.errors import EngineUnsupported, NotFinite

pytestmark = pytest.mark.usefixtures("unchecked_types")


def _operands(n, *, batch=(2,), seed=0):
    g = torch.Generator().manual_seed(seed)
    q, k, v = (torch.randn(*batch, n, 2, generator=g, dtype=torch.float64) for _ in range(3))
    return q, k, v, torch.randn(*batch, n, generator=g, dtype=torch.float64)


@pytest.mark.parametrize("engine", [Tree(), Auto(), Dense()], ids=lambda e: e.name)
@pytest.mark.parametrize("batch", [(), (2,), (2, 1)], ids=str)
def test_a_prepared_sum_is_the_sum(engine, batch):
    q, k, v, logits = _operands(700, batch=batch)
    prepared = engine.prepared(q, k)
    for factor in (1.0, 3.0):
        b = factor * logits
        close = {"rtol": 0, "atol": 1e-7}
        torch.testing.assert_close(prepared.log_sum(b), Dense().log_sum(q, k, b), **close)
        torch.testing.assert_close(prepared.average(v, b), Dense().average(q, k, v, b), **close)


def test_absent_keys_and_other_batches_are_no_different():
    q, k, v, logits = _operands(300)
    prepared = Tree().prepared(q, k)
    logits[:, ::2] = -torch.inf
    torch.testing.assert_close(prepared.log_sum(logits), Tree().log_sum(q, k, logits))
    torch.testing.assert_close(
        prepared.average(v[:1], logits), Tree().average(q, k, v[:1], logits)
    )
    wider = logits.expand(3, 2, 300)
    torch.testing.assert_close(prepared.log_sum(wider), Tree().log_sum(q, k, wider))


def test_what_the_trees_refuse_stays_refused():
    q, k, v, logits = _operands(20)
    with pytest.raises(NotFinite, match="tree"):
        Tree().prepared(q * torch.nan, k).log_sum(logits)
    with pytest.raises(EngineUnsupported, match="gradient"):
        Tree().prepared(q, k).log_sum(logits.clone().requires_grad_())
    positions = torch.arange(20.0, dtype=torch.float64)[None]
    view = Window(2.0).bind(positions, positions)
    with pytest.raises(EngineUnsupported, match="window"):
        Tree().prepared(q, k, mask=view).average(v, logits)


def test_trees_are_grown_once(monkeypatch):
    from vlasov.engines import tree_prepared

    grown, original = [], tree_prepared.trees_over
    monkeypatch.setattr(
        tree_prepared, "trees_over", lambda q, k: grown.append(len(q)) or original(q, k)
    )
    q, _, v, _ = _operands(1_500, batch=(1,))
    flat = torch.full((1, 1_500), -math.log(1_500), dtype=torch.float64)
    with collecting() as reports:
        Sinkhorn(tolerance=1e-8).average(q, q, v, flat, Tree())
    assert grown == [1_500]
    assert reports[0].sums > 5


@pytest.mark.parametrize("kind", ["symmetric", "general"])
def test_sinkhorn_by_trees_is_sinkhorn(kind):
    q, k, v, _ = _operands(500, batch=(1,))
    k = q if kind == "symmetric" else k
    flat = torch.full((1, 500), -math.log(500), dtype=torch.float64)
    attention = Sinkhorn(tolerance=1e-9)
    potentials = [attention.potentials(q, k, flat, e) for e in (Tree(), Dense())]
    shift = (potentials[0][0] - potentials[1][0]).mean()
    assert (potentials[0][0] - potentials[1][0] - shift).abs().max() < 1e-7
    assert (potentials[0][1] - potentials[1][1] + shift).abs().max() < 1e-7
    fields = [attention.average(q, k, v, flat, e) for e in (Tree(), Dense())]
    assert (fields[0] - fields[1]).abs().max() < 1e-7


@pytest.mark.slow
def test_marginals_of_a_large_cloud():
    n = 20_000
    q, k, _, _ = _operands(n, batch=(1,))
    flat = torch.full((1, n), -math.log(n), dtype=torch.float64)
    f, g = Sinkhorn(tolerance=1e-8).potentials(q, k, flat, Tree())
    rows = Direct().log_sum(q, k, g + flat) + f
    columns = Direct().log_sum(k, q, f + flat) + g
    assert rows.expm1().abs().max() < 2e-9
    assert columns.expm1().abs().max() < 1.2e-8
