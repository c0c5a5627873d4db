"""Kernels other than the exponential in the compiled pass."""

import pytest
import torch

from vlasov.attention.masks import Alibi, Causal, Window
from vlasov.attention.sigmoid import Sigmoid
from vlasov.engines import Auto, Dense, Direct
from vlasov.engines.pair_kernels import Identity, Logistic
from vlasov.errors import EngineUnsupported

N = 1_100  # tokens: a tile holds about 600 keys in the plane
KERNELS = [Identity(), Logistic(-0.7)]


def _operands(n=N, *, size=1.0, width=2, dtype=torch.float64, batch=(1,)):
    g = torch.Generator().manual_seed(n + width)
    q, k, v = (torch.randn(*batch, n, width, generator=g, dtype=dtype) for _ in range(3))
    return size * q, k, v, torch.randn(*batch, n, generator=g, dtype=dtype).log_softmax(-1)


def _assert_agrees(kernel, operands, mask=None):
    """Errors are relative to the sum of absolute terms, a few units of rounding of the scores."""
    q, k, v, log_w = operands
    found = Direct().pair_sum(kernel, q, k, v, log_w, mask=mask)
    exact = [x.double() for x in (q, k, v, log_w)]
    wanted = Dense().pair_sum(kernel, *exact, mask=mask)
    scores = (exact[0] @ exact[1].mT).abs()
    terms = kernel(exact[0] @ exact[1].mT).abs() * (1 + scores)
    scale = (terms * exact[3].exp().unsqueeze(-2)) @ exact[2].abs()
    if mask is not None:
        scale = scale + scale.amax()
    assert ((found - wanted).abs() <= 20 * torch.finfo(q.dtype).eps * scale).all()


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=str)
def test_sums_agree_with_the_definition(kernel, dtype):
    _assert_agrees(kernel, _operands(dtype=dtype))


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=str)
@pytest.mark.parametrize("size", [1e-12, 1e2, 1e6])
def test_scores_of_any_size_agree_with_the_definition(size, dtype):
    _assert_agrees(Logistic(), _operands(size=size, dtype=dtype))


def test_the_logistic_function_keeps_its_relative_accuracy_where_it_is_small():
    scores = torch.linspace(-690.0, 690.0, N, dtype=torch.float64).reshape(1, N, 1)
    one = torch.ones(1, 1, 1, dtype=torch.float64)
    found = Direct().pair_sum(Logistic(), scores, one, one, torch.zeros(1, 1, dtype=torch.float64))
    unit = torch.finfo(torch.float64).eps
    assert ((found / scores.sigmoid() - 1).abs() <= unit * (5 + scores.abs())).all()


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
@pytest.mark.parametrize("shuffled", [False, True])
def test_causal_sums_of_a_batch_with_heads_agree(kernel, shuffled):
    operands = _operands(400, batch=(2, 3))
    order = torch.randperm(400, generator=torch.Generator().manual_seed(1))
    positions = (order if shuffled else torch.arange(400)).double().expand(2, 1, 400)
    _assert_agrees(kernel, operands, Causal().bind(positions, positions))


def test_rows_that_see_nothing_and_keys_of_weight_zero():
    q, k, v, log_w = _operands(50)
    log_w = torch.where(torch.arange(50) % 2 == 0, -torch.inf, log_w)
    early = torch.arange(50.0, dtype=torch.float64)[None] - 10
    mask = Causal().bind(early, torch.arange(50.0, dtype=torch.float64)[None])
    _assert_agrees(Logistic(), (q, k, v, log_w), mask)
    found = Direct().pair_sum(Logistic(), q, k, v, log_w, mask=mask)
    assert torch.equal(found[:, :11], torch.zeros_like(v[:, :11]))


def test_neighbours_and_threads_change_nothing():
    operands = _operands(300, batch=(3,))
    threads = torch.get_num_threads()
    try:
        torch.set_num_threads(3)
        together = Direct().pair_sum(Logistic(), *operands)
    finally:
        torch.set_num_threads(threads)
    for i in range(3):
        alone = Direct().pair_sum(Logistic(), *(x[i : i + 1] for x in operands))
        assert torch.equal(alone[0], together[i])


def test_gradients_are_those_of_the_definition():
    q, k, v, log_w = _operands(60)
    slopes = []
    for engine in (Direct(), Dense()):
        x = q.clone().requires_grad_()
        engine.pair_sum(Logistic(), x, k, v, log_w).square().sum().backward()
        slopes.append(x.grad)
    assert torch.allclose(*slopes, rtol=1e-12)


def test_auto_takes_it_for_many_pairs_of_small_width_only(monkeypatch):
    seen, original = [], Direct._pair_sum

    def spy(self, pair, pairs):
        seen.append(pair)
        return original(self, pair, pairs)

    monkeypatch.setattr(Direct, "_pair_sum", spy)
    q, k, v, log_w = _operands()
    Sigmoid(0.5).average(q, k, v, log_w, Auto())
    assert seen == [Logistic(0.5)]
    Auto().pair_sum(torch.sigmoid, q, k, v, log_w)
    Auto().pair_sum(Logistic(), *_operands(100))
    Auto().pair_sum(Logistic(), *_operands(width=9))
    Auto().pair_sum(Logistic(), q.requires_grad_(), k, v, log_w)
    assert len(seen) == 1


def test_what_it_cannot_sum_is_refused_by_name():
    q, k, v, log_w = _operands(4)
    positions = torch.arange(4.0, dtype=torch.float64)[None]
    with pytest.raises(EngineUnsupported, match="no exponential"):
        Direct().pair_sum(torch.sigmoid, q, k, v, log_w)
    alibi = Alibi(0.1, causal=True).bind(positions, positions)
    with pytest.raises(EngineUnsupported, match="ALiBi with a kernel"):
        Direct().pair_sum(Logistic(), q, k, v, log_w, mask=alibi)
    with pytest.raises(EngineUnsupported, match="window"):
        Direct().pair_sum(Logistic(), q, k, v, log_w, mask=Window(2.0).bind(positions, positions))
