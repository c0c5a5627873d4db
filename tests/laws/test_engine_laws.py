"""Every engine gives the same sums, whatever sizes, masks, weights and number formats."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from random_sums import EXPONENTIAL_ONLY, FUSABLE, GENERAL, MASK_KINDS, RandomSum, random_sum
from torch import Tensor

from vlasov.engines import ENGINES, Dense, Engine

# Three rows at a time, so that small clouds take several blocks.
SPECS = ["tiled:rows=3" if name == "tiled" else name for name in GENERAL]
DTYPES = [torch.float64, torch.float32]
seeds = st.integers(0, 2**32 - 1)
several = settings(max_examples=10, deadline=None)


def supported(spec: str, kind: str) -> bool:
    return spec not in EXPONENTIAL_ONLY or kind in FUSABLE


SUMS = [(spec, kind) for spec in SPECS for kind in MASK_KINDS if supported(spec, kind)]
OTHERS = [(spec, kind) for spec, kind in SUMS if spec != "dense"]
# `tree` refuses gradients, and holds a tolerance instead of rounding: see test_tree.py.
EXACT = [(spec, kind) for spec, kind in OTHERS if spec != "tree"]
SMOOTH = [spec for spec in SPECS if spec != "tree"]


def assert_agree(found: Tensor, wanted: Tensor, problem: RandomSum, *, size: float = 1.0) -> None:
    """To 10 units of rounding times the largest score: what two orders of addition differ by."""
    unit = torch.finfo(found.dtype).eps / 2
    tolerance = 10 * unit * (1 + problem.score_bound()) * size
    torch.testing.assert_close(found, wanted, rtol=0, atol=tolerance)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize(("spec", "kind"), EXACT)
@given(seed=seeds)
@several
def test_exponential_sums_agree_with_dense(
    spec: str, kind: str, dtype: torch.dtype, seed: int
) -> None:
    problem, engine = random_sum(seed, kind, dtype), ENGINES.build(spec)
    q, k, v, logits = problem.operands
    average = Dense().average(q, k, v, logits, mask=problem.mask)
    found = engine.average(q, k, v, logits, mask=problem.mask)
    assert_agree(found, average, problem, size=v.abs().max().item())
    log_sum = Dense().log_sum(q, k, logits, mask=problem.mask)
    assert_agree(engine.log_sum(q, k, logits, mask=problem.mask), log_sum, problem)


@pytest.mark.parametrize(
    ("spec", "kind"), [case for case in OTHERS if case[0] not in EXPONENTIAL_ONLY]
)
@given(seed=seeds)
@several
def test_other_sums_agree_with_dense(spec: str, kind: str, seed: int) -> None:
    problem, engine = random_sum(seed, kind), ENGINES.build(spec)
    size = problem.v.abs().sum().item() * max(1.0, problem.logits.exp().sum().item())
    for sums in (lambda e: _pair_sum(e, problem), lambda e: _leader_average(e, problem)):
        assert_agree(sums(engine), sums(Dense()), problem, size=size)


def _pair_sum(engine: Engine, problem: RandomSum) -> Tensor:
    return engine.pair_sum(torch.sigmoid, *problem.operands, mask=problem.mask)


def _leader_average(engine: Engine, problem: RandomSum) -> Tensor:
    return engine.leader_average(*problem.operands, tie=1e-9, mask=problem.mask)


@pytest.mark.parametrize("kind", FUSABLE)
@given(seed=seeds)
@several
def test_certified_sums_agree_with_dense_to_their_tolerance(kind: str, seed: int) -> None:
    problem, engine = random_sum(seed, kind), ENGINES.build("tree:tolerance=1e-9")
    q, k, v, logits = problem.operands
    wanted = Dense().average(q, k, v, logits, mask=problem.mask)
    found = engine.average(q, k, v, logits, mask=problem.mask)
    assert (found - wanted).abs().max() <= 1e-9 * 10 * (1 + v.abs().max())
    wanted = Dense().log_sum(q, k, logits, mask=problem.mask)
    found = engine.log_sum(q, k, logits, mask=problem.mask)
    torch.testing.assert_close(found, wanted, rtol=0, atol=1e-8)


@pytest.mark.parametrize(("spec", "kind"), EXACT)
@given(seed=seeds)
@several
def test_gradients_agree_with_dense(spec: str, kind: str, seed: int) -> None:
    problem = random_sum(seed, kind)
    wanted, found = (_gradients(e, problem) for e in (Dense(), ENGINES.build(spec)))
    scale = (1 + problem.score_bound()) * (1 + max(g.abs().max().item() for g in wanted))
    for mine, reference in zip(found, wanted, strict=True):
        # A gradient is a sum over queries of products of three rounded factors.
        torch.testing.assert_close(mine, reference, rtol=0, atol=1e3 * 1.1e-16 * scale)


def _gradients(engine: Engine, problem: RandomSum) -> list[Tensor]:
    q, k, v, logits = (x.clone().requires_grad_() for x in problem.operands)
    average = engine.average(q, k, v, logits, mask=problem.mask)
    total = engine.log_sum(q, k, logits, mask=problem.mask)
    seen = torch.where(total.isinf(), 0.0, total)
    ramp = torch.arange(1.0, average.numel() + 1, dtype=average.dtype).view_as(average)
    return list(torch.autograd.grad((average * ramp).sum() + seen.sin().sum(), (q, k, v, logits)))


@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize("half", [torch.float16, torch.bfloat16], ids=str)
@given(seed=seeds)
@several
def test_half_precision_is_summed_in_float32_and_rounded_once(
    spec: str, half: torch.dtype, seed: int
) -> None:
    q, k, v, logits = (x.to(half) for x in random_sum(seed).operands)
    engine = ENGINES.build(spec)
    full = engine.average(q.float(), k.float(), v.float(), logits.float())
    assert torch.equal(engine.average(q, k, v, logits), full.to(half))
    logarithms = engine.log_sum(q.float(), k.float(), logits.float())
    assert torch.equal(engine.log_sum(q, k, logits), logarithms.to(half))


@pytest.mark.parametrize("spec", SPECS)
@given(seed=seeds)
@several
def test_keys_of_weight_zero_are_absent(spec: str, seed: int) -> None:
    q, k, v, logits = (x[:1] for x in random_sum(seed).operands)
    engine, present = ENGINES.build(spec), ~logits[0, 0].isinf()
    found = engine.average(q, k, v, logits)
    if not present.any():
        assert torch.equal(found, torch.zeros_like(found))
        assert engine.log_sum(q, k, logits).isneginf().all()
        return
    wanted = engine.average(q, k[..., present, :], v[..., present, :], logits[..., present])
    torch.testing.assert_close(found, wanted)


@pytest.mark.parametrize(("spec", "kind"), [case for case in SUMS if case[0] != "tree"])
def test_rows_without_a_key_are_zero_with_finite_gradients(spec: str, kind: str) -> None:
    problem = random_sum(7, kind)
    q, k, v, logits = (x.clone().requires_grad_() for x in problem.operands)
    nothing = torch.full_like(logits, -torch.inf).requires_grad_()
    engine = ENGINES.build(spec)
    average = engine.average(q, k, v, nothing, mask=problem.mask)
    gradients = torch.autograd.grad(average.sum(), (q, k, v, nothing))
    assert torch.equal(average, torch.zeros_like(average))
    assert engine.log_sum(q, k, nothing, mask=problem.mask).isneginf().all()
    assert all(torch.equal(g, torch.zeros_like(g)) for g in gradients)


@pytest.mark.parametrize("spec", SMOOTH)
def test_first_derivatives_pass_gradcheck(spec: str) -> None:
    engine = ENGINES.build(spec)
    operands = [x.clone().requires_grad_() for x in _few()]
    assert torch.autograd.gradcheck(engine.average, operands)
    assert torch.autograd.gradcheck(lambda q, k, _, logits: engine.log_sum(q, k, logits), operands)


def test_second_derivatives_of_dense_pass_gradgradcheck() -> None:
    operands = [x.clone().requires_grad_() for x in _few()]
    assert torch.autograd.gradgradcheck(Dense().average, operands)
    assert torch.autograd.gradgradcheck(
        lambda q, k, _, logits: Dense().log_sum(q, k, logits), operands
    )


def _few() -> list[Tensor]:
    g = torch.Generator().manual_seed(1)
    shapes = [(2, 3, 2), (2, 4, 2), (2, 4, 3), (1, 4)]
    return [torch.randn(*shape, generator=g, dtype=torch.float64) for shape in shapes]


@pytest.mark.parametrize("spec", SPECS)
def test_equal_calls_are_equal_bit_for_bit(spec: str) -> None:
    operands, engine = random_sum(3).operands, ENGINES.build(spec)
    assert torch.equal(engine.average(*operands), engine.average(*operands))


@pytest.mark.parametrize("name", list(ENGINES))
def test_spec_builds_the_same_engine(name: str) -> None:
    engine = ENGINES.build(name)
    assert ENGINES.build(ENGINES.spec(engine)) == engine


@pytest.mark.parametrize("spec", SPECS)
def test_keys_far_from_the_origin_lose_no_digits(spec: str) -> None:
    g = torch.Generator().manual_seed(4)
    x = (1000 + torch.randn(1, 30, 3, generator=g, dtype=torch.float64)).float().double()
    q, flat = 1e-3 * x, torch.zeros(1, 30, dtype=torch.float64)
    wanted = Dense().average(q, x, x, flat)
    found = ENGINES.build(spec).average(q.float(), x.float(), x.float(), flat.float())
    # Rounding of the answer itself, 1000 * 6e-8, and of exponents of a few units.
    assert (found.double() - wanted).abs().max() < 1e-3
