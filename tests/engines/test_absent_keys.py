"""Rows that see no present key, values of any size and width, ties: engines agree."""

import pytest
import torch

from vlasov.engines import Auto, Dense, Direct, Fused, Tiled, Tree, Visibility
from vlasov.engines.engine_report import collecting
from vlasov.engines.pairs import Pairs
from vlasov.engines.tree_halves import by_halves, causal_sums

pytestmark = pytest.mark.usefixtures("unchecked_types")
ENGINES = [Direct(), Tree(1e-8), Fused(), Tiled(), Auto()]


def named(engine):
    return engine.name


def causal(queries, keys=None):
    queries = torch.as_tensor(queries)[None]
    return Visibility(
        queries, queries if keys is None else torch.as_tensor(keys)[None], causal=True
    )


@pytest.mark.parametrize("engine", ENGINES, ids=named)
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("masked", [False, True])
def test_rows_without_a_present_key_are_zero_whatever_their_scores(engine, dtype, masked):
    generator = torch.Generator().manual_seed(3)
    n, absent = 700, 300
    q = 60 * torch.randn(1, n, 2, dtype=dtype, generator=generator)
    k, v = torch.randn(2, 1, n, 2, dtype=dtype, generator=generator)
    q = q if dtype == torch.float64 or not isinstance(engine, Tree) else q / 100
    logits = torch.zeros(1, n, dtype=dtype)
    logits[:, : absent if masked else n] = -torch.inf
    mask = causal(range(n)) if masked else None
    blind = absent if masked else n
    average = engine.average(q, k, v, logits, mask=mask)
    log_sum = engine.log_sum(q, k, logits, mask=mask)
    assert (average[:, :blind] == 0).all()
    assert log_sum[:, :blind].isneginf().all()
    assert average.isfinite().all()
    assert log_sum[:, blind:].isfinite().all()


@pytest.mark.parametrize("dv", [1, 9, 16, 17])
@pytest.mark.parametrize("n", [10, 9000])
def test_causal_trees_take_values_of_any_width(n, dv):
    generator = torch.Generator().manual_seed(dv)
    q, k = torch.randn(2, 1, n, 2, dtype=torch.float64, generator=generator)
    v = torch.randn(1, n, dv, dtype=torch.float64, generator=generator)
    mask, some = causal(range(n)), slice(-5, None)
    for engine in (Tree(1e-8), Auto()):
        found = engine.average(q, k, v, torch.zeros(1, n, dtype=torch.float64), mask=mask)
        wanted = torch.stack(
            [(q[0, i] @ k[0, : i + 1].T).softmax(0) @ v[0, : i + 1] for i in range(n)[some]]
        )
        torch.testing.assert_close(found[0, some], wanted, rtol=0, atol=1e-7)


@pytest.mark.parametrize("engine", ENGINES, ids=named)
def test_tokens_need_no_batch_axis(engine):
    x = torch.randn(9000, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    flat = torch.zeros(9000, dtype=torch.float64)
    found = engine.average(x, x, x, flat)
    wanted = engine.average(x[None], x[None], x[None], flat[None])[0]
    torch.testing.assert_close(found, wanted, rtol=1e-12, atol=1e-12)


def test_a_share_of_nearly_one_loses_no_digits_by_halves():
    n, zeros = 5000, torch.zeros(5000, 1, dtype=torch.float64)
    logits = torch.full((n,), 700.0, dtype=torch.float64)
    logits[n // 2 :] = 670.0
    v = torch.ones(n, 1, dtype=torch.float64)
    v[n // 2 :] = 1e8
    found = by_halves(1e-8, Pairs(zeros, zeros, v, logits), 1000)
    weights = (logits - 700).exp()
    wanted = (weights * v[:, 0]).cumsum(0) / weights.cumsum(0)
    assert ((found.averages[:, 0] - wanted).abs() <= found.bounds).all()


@pytest.mark.parametrize("engine", ENGINES, ids=named)
@pytest.mark.parametrize("size", [1e-300, 1e-40, 1e40, 1e60, 1e100, 1e300])
@pytest.mark.parametrize("masked", [False, True])
def test_values_of_any_size_are_averaged(engine, size, masked):
    zeros = torch.zeros(1, 3, 1, dtype=torch.float64)
    logits = torch.tensor([[-600.0, 0.0, 0.0]], dtype=torch.float64)
    v = size * torch.tensor([[[1.0], [2.0], [3.0]]], dtype=torch.float64)
    mask = causal(range(3)) if masked else None
    found = engine.average(zeros, zeros, v, logits, mask=mask) / size
    wanted = Dense().average(zeros, zeros, v / size, logits, mask=mask)
    torch.testing.assert_close(found, wanted, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("size", [1e15, 1e25, 1e35])
def test_single_values_of_any_size_are_averaged(size):
    zeros, logits = torch.zeros(1, 3, 1), torch.tensor([[-45.0, 0.0, 0.0]])
    v = size * torch.tensor([[[1.0], [2.0], [3.0]]])
    found = Direct().average(zeros, zeros, v, logits) / size
    torch.testing.assert_close(found, torch.full((1, 3, 1), 2.5), rtol=1e-5, atol=0)


@pytest.mark.parametrize("size", [1e-290, 1e250])
def test_bounds_of_causal_sums_follow_the_size_of_values(size):
    generator = torch.Generator().manual_seed(9)
    q, k, v = torch.randn(3, 3000, 2, dtype=torch.float64, generator=generator)
    logits = torch.zeros(3000, dtype=torch.float64)
    one, other = (causal_sums(1e-8, Pairs(q, k, s * v, logits), end=500) for s in (1.0, size))
    torch.testing.assert_close(other.bounds / size, one.bounds, rtol=1e-6, atol=0)
    torch.testing.assert_close(other.averages / size, one.averages, rtol=1e-6, atol=1e-6)
    with collecting() as reports:
        causal_sums(1e-8, Pairs(q, k, size * v, logits), end=500)
    assert reports[0].bound == pytest.approx(float(other.bounds.max()))


def positions(kind, n):
    p = torch.arange(n, dtype=torch.float64)
    if kind == "one tie":
        p[1] = 0
    if kind == "pairs":
        p = (p / 2).floor()
    if kind == "many ties":
        p = (p / 30).floor()
    if kind == "shuffled ties":
        p = (p / 3).floor()[torch.randperm(n, generator=torch.Generator().manual_seed(2))]
    return p


@pytest.mark.parametrize("engine", ENGINES, ids=named)
@pytest.mark.parametrize("kind", ["one tie", "pairs", "many ties", "shuffled ties"])
@pytest.mark.parametrize("shift", [0.0, 0.5, -0.5])
def test_ties_and_shifted_positions_agree_with_the_dense_engine(engine, kind, shift):
    generator = torch.Generator().manual_seed(4)
    q, k, v = torch.randn(3, 2, 200, 2, dtype=torch.float64, generator=generator)
    p, logits = positions(kind, 200), torch.zeros(2, 200, dtype=torch.float64)
    mask = causal((p + shift).tolist(), p.tolist())
    found = engine.average(q, k, v, logits, mask=mask)
    torch.testing.assert_close(
        found, Dense().average(q, k, v, logits, mask=mask), atol=1e-7, rtol=0
    )
    found = engine.log_sum(q, k, logits, mask=mask)
    torch.testing.assert_close(found, Dense().log_sum(q, k, logits, mask=mask), atol=1e-7, rtol=0)


def test_gradients_flow_through_ties():
    generator = torch.Generator().manual_seed(5)
    q, k, v = torch.randn(3, 1, 60, 2, dtype=torch.float64, generator=generator).requires_grad_()
    mask, logits = causal(positions("one tie", 60).tolist()), torch.zeros(1, 60).double()
    grads = [
        torch.autograd.grad(engine.average(q, k, v, logits, mask=mask).sin().sum(), (q, k, v))
        for engine in (Fused(), Dense())
    ]
    for one, other in zip(*grads, strict=True):
        torch.testing.assert_close(one, other, atol=1e-10, rtol=0)
