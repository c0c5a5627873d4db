"""Random batches: unbiased, with the variance of sampling, a function of the cloud, refusals."""

import math

import pytest
import torch
from torch import Tensor

import vlasov as vl
from vlasov.attention import ATTENTIONS
from vlasov.attention.masks import Causal
from vlasov.engines import Dense, Engine, RandomBatch
from vlasov.errors import EngineUnsupported, InvalidValue

pytestmark = pytest.mark.usefixtures("unchecked_types")

ESTIMATED = ("softmax", "l2", "unnormalised", "sigmoid")
DRAWS = 2000


def _cloud(n: int, d: int = 2) -> tuple[Tensor, Tensor]:
    g = torch.Generator().manual_seed(n)
    x = torch.randn(2, 2, n, d, generator=g, dtype=torch.float64)
    return x, torch.randn(2, 1, n, generator=g, dtype=torch.float64).log_softmax(-1)


def _field(name: str, engine: Engine, x: Tensor, log_w: Tensor) -> Tensor:
    return ATTENTIONS.build(name).average(x, x, x + 1, log_w, engine)


def _draws(name: str, x: Tensor, log_w: Tensor, p: int, **options: str) -> Tensor:
    """Fields in many batches: clouds that differ by a rounding draw their own ones."""
    nearly = 1 + 1e-14 * torch.arange(DRAWS, dtype=x.dtype)
    clouds = nearly.view(-1, 1, 1, 1, 1) * x
    return _field(name, RandomBatch(p, **options), clouds, log_w)


# 7 tokens make batches of 3, 2, 2 for p = 2 and of 4, 3 for p = 3.
@pytest.mark.parametrize("p", [2, 3])
@pytest.mark.parametrize("name", ESTIMATED)
def test_the_mean_over_draws_is_the_whole_sum(name: str, p: int) -> None:
    x, log_w = _cloud(7)
    found = _draws(name, x, log_w, p)
    error = found.std(0) / math.sqrt(DRAWS)
    assert ((found.mean(0) - _field(name, Dense(), x, log_w)).abs() <= 4 * error).all()


def test_the_plain_ratio_in_a_batch_is_biased() -> None:
    x, log_w = _cloud(8)
    found = _draws("softmax", x, log_w, 2, normaliser="batch")
    error = found.std(0) / math.sqrt(DRAWS)
    assert ((found.mean(0) - _field("softmax", Dense(), x, log_w)).abs() > 10 * error).any()


@pytest.mark.parametrize("p", [2, 4])
def test_v54_the_variance_is_that_of_sampling_without_replacement(p: int) -> None:
    n = 8
    x, log_w = _cloud(n)
    found = _draws("unnormalised", x, log_w, p).var(0).sum()
    weights = (x @ x.mT + log_w.unsqueeze(-2)).exp()
    terms = weights.unsqueeze(-1) * (x + 1).unsqueeze(-3)
    others = ~torch.eye(n, dtype=torch.bool)
    spread = terms[..., others, :].unflatten(-2, (n, n - 1)).var(-2).sum()
    wanted = (n - 1) ** 2 * (1 / (p - 1) - 1 / (n - 1)) * spread
    # a sample variance of heavy terms, whose own standard error is some per cent
    assert found / wanted == pytest.approx(1, abs=0.25)


@pytest.mark.parametrize("normaliser", ["full", "batch"])
@pytest.mark.parametrize("name", [*ESTIMATED, "sinkhorn"])
def test_one_batch_of_all_tokens_is_exact(name: str, normaliser: str) -> None:
    x, log_w = _cloud(5)
    found = _field(name, RandomBatch(5, normaliser=normaliser), x, log_w)
    torch.testing.assert_close(found, _field(name, Dense(), x, log_w), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("normaliser", ["full", "batch"])
@pytest.mark.parametrize("name", ESTIMATED)
def test_derivatives_of_one_batch_are_those_of_dense(name: str, normaliser: str) -> None:
    engine = RandomBatch(5, normaliser=normaliser)
    gradients = []
    for one in (engine, Dense()):
        x, log_w = (y.requires_grad_() for y in _cloud(5))
        field = _field(name, one, x, log_w)
        gradients.append(torch.autograd.grad(field.sin().sum(), (x, log_w)))
    for found, wanted in zip(*gradients, strict=True):
        torch.testing.assert_close(found, wanted, rtol=1e-9, atol=1e-9)


def test_a_token_sees_itself_and_its_batch_alone() -> None:
    x, log_w = _cloud(12)
    rows = torch.eye(12, dtype=torch.float64)
    exact = Dense().average(x, x, rows, log_w)
    found = RandomBatch(3).average(x, x, rows, log_w)
    assert ((found > 0).sum(-1) == 3).all()
    torch.testing.assert_close(found.diagonal(0, -2, -1), exact.diagonal(0, -2, -1))
    plain = RandomBatch(3, normaliser="batch").average(x, x, rows, log_w)
    torch.testing.assert_close(plain.sum(-1), torch.ones_like(plain.sum(-1)))
    assert torch.equal(plain > 0, found > 0)  # the same batches


def test_batches_are_a_function_of_seed_and_cloud() -> None:
    x, log_w = _cloud(12)
    first = _field("unnormalised", RandomBatch(), x, log_w)
    assert torch.equal(first, _field("unnormalised", RandomBatch(), x, log_w))
    rows = torch.eye(12, dtype=torch.float64)
    seen = [RandomBatch(seed=s).average(y, y, rows, log_w) > 0 for s, y in
            ((0, x), (1, x), (0, x * (1 + 1e-15)))]  # fmt: skip
    assert not torch.equal(seen[0], seen[1])
    assert not torch.equal(seen[0], seen[2])
    # nor do they depend on the neighbours in a batch of clouds
    alone = _field("unnormalised", RandomBatch(), x[1:], log_w[1:])
    torch.testing.assert_close(alone, first[1:])


def test_a_run_in_two_parts_is_the_run_in_one() -> None:
    cloud = vl.Cloud.sphere(n=16, d=3, seed=0)
    pde = vl.TransformerPDE(attention="unnormalised", geometry="sphere", engine="rbm:p=4,seed=7")
    options = {"step": 0.125, "integrator": "euler"}
    whole = vl.simulate(pde, cloud, until=1.0, **options)
    half = vl.simulate(pde, cloud, until=0.5, **options)
    rest = vl.simulate(pde, half.final, start=0.5, until=1.0, **options)
    assert torch.equal(whole.final.points, rest.final.points)


@pytest.mark.parametrize("name", ESTIMATED)
def test_absent_tokens_and_a_single_one(name: str) -> None:
    x, log_w = _cloud(6)
    nothing = torch.full_like(log_w, -torch.inf)
    assert torch.equal(_field(name, RandomBatch(), x, nothing), torch.zeros_like(x))
    x, log_w = x[..., :1, :], torch.zeros_like(log_w[..., :1])
    found, wanted = (_field(name, engine, x, log_w) for engine in (RandomBatch(), Dense()))
    torch.testing.assert_close(found, wanted)


def test_what_is_refused() -> None:
    x, log_w = _cloud(6)
    engine, positions = RandomBatch(), torch.arange(6.0, dtype=torch.float64)[None, None]
    with pytest.raises(EngineUnsupported, match=r"'rbm' .* a sum under a mask"):
        engine.average(x, x, x, log_w, mask=Causal().bind(positions, positions))
    with pytest.raises(EngineUnsupported, match="2 queries of 6 keys"):
        engine.log_sum(x[..., :2, :], x, log_w)
    with pytest.raises(EngineUnsupported, match="average over leaders"):
        engine.leader_average(x, x, x, log_w, tie=0.0)
    with pytest.raises(InvalidValue, match="p >= 2 tokens but got 1"):
        RandomBatch(1)
    with pytest.raises(InvalidValue, match="'full' or 'batch' but got 'all'"):
        RandomBatch(normaliser="all")
    assert RandomBatch().within(1e-11) == RandomBatch(tolerance=1e-11)
