"""What every attention variant owes: it is a function of the measure that the tokens form."""

import dataclasses
import inspect

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from random_sums import GENERAL
from torch import Tensor

import vlasov.attention
from vlasov.attention import (
    ATTENTIONS,
    Attention,
    HeadMixture,
    Sinkhorn,
    attention_spec,
    build_attention,
)
from vlasov.attention.masks import Alibi, Causal, Explicit, Mask, Window
from vlasov.engines import ENGINES, Auto, Dense, Visibility
from vlasov.errors import EngineUnsupported, NotConverged, Unsupported

seeds = st.integers(0, 2**32 - 1)
several = settings(max_examples=4, deadline=None)
MASKS: dict[str, Mask | None] = {
    "none": None,
    "causal": Causal(),
    "window": Window(1.5),
    "alibi": Alibi((0.1, 0.7)),
    "causal alibi": Alibi(0.4, causal=True),
}


def cloud(seed: int, *, n: int = 6) -> tuple[Tensor, Tensor, Tensor]:
    """Tokens of two members and two heads, log weights and positions with ties."""
    g = torch.Generator().manual_seed(seed)
    x = 0.5 * torch.randn(2, 2, n, 2, generator=g, dtype=torch.float64)
    log_w = torch.randn(2, 1, n, generator=g, dtype=torch.float64).log_softmax(-1)
    positions = torch.randint(0, 4, (2, 1, n), generator=g).double()
    return x, log_w, positions


def view(mask: Mask | None, positions: Tensor) -> Visibility | None:
    return None if mask is None else mask.bind(positions, positions)


def answers(variant: Attention, engine: str, kind: str) -> bool:
    x, log_w, positions = cloud(0)
    try:
        variant.average(x, x, x, log_w, ENGINES.build(engine), mask=view(MASKS[kind], positions))
    except Unsupported:
        return False
    return True


# Every variant on every engine under every mask, but for what is refused by name (tested there).
CASES = [
    (name, engine, kind)
    for name in ATTENTIONS
    for engine in GENERAL
    for kind in MASKS
    if answers(ATTENTIONS.build(name), engine, kind)
]
# The laws of the measure are tested on one engine; that engines agree is a law of its own.
SEEN = [(name, kind) for name, engine, kind in CASES if engine == "auto"]
UNMASKED = [(name, engine) for name, engine, kind in CASES if kind == "none"]
# The trees refuse gradients and hold a tolerance, which tests/engines/test_tree.py tests.
EXACT = [case for case in CASES if case[1] != "tree"]
SMOOTH = [case for case in UNMASKED if case[1] != "tree"]
BOUNDED = [case for case in UNMASKED if ATTENTIONS.build(case[0]).row_stochastic]
# Scores and values of the clouds above stay below 10; the strict iteration stops within 1e-13 of
# its marginals, which a slow rate of convergence magnifies in the field.
CLOSE = {"rtol": 1e-9, "atol": 1e-9}


def strict(name: str) -> Attention:
    """A variant whose answer is independent of where an iteration happens to stop."""
    return Sinkhorn(tolerance=1e-13) if name == "sinkhorn" else ATTENTIONS.build(name)


@pytest.mark.parametrize("name", list(ATTENTIONS))
@pytest.mark.parametrize("engine", ["dense", "auto"])
def test_only_one_sided_sinkhorn_is_refused_by_general_engines(name: str, engine: str) -> None:
    refused = {kind for kind in MASKS if (name, engine, kind) not in CASES}
    assert refused == ({"causal", "causal alibi"} if name == "sinkhorn" else set())


@pytest.mark.parametrize(("name", "kind"), SEEN)
@given(seed=seeds)
@several
def test_permuting_the_tokens_permutes_the_field(name: str, kind: str, seed: int) -> None:
    x, log_w, positions = cloud(seed)
    variant, evaluate = strict(name), Auto()
    order = torch.randperm(x.shape[-2], generator=torch.Generator().manual_seed(seed))
    field = variant.average(x, x, x, log_w, evaluate, mask=view(MASKS[kind], positions))
    y, moved = x[..., order, :], view(MASKS[kind], positions[..., order])
    found = variant.average(y, y, y, log_w[..., order], evaluate, mask=moved)
    torch.testing.assert_close(found, field[..., order, :], **CLOSE)


@pytest.mark.parametrize(("name", "kind"), SEEN)
@given(seed=seeds)
@several
def test_splitting_a_particle_changes_nothing(name: str, kind: str, seed: int) -> None:
    x, log_w, positions = cloud(seed)
    variant, evaluate = strict(name), Auto()
    whole = variant.average(x, x, x, log_w, evaluate, mask=view(MASKS[kind], positions))
    y = torch.cat([x, x[..., :1, :]], -2)
    halved = log_w.clone()
    halved[..., 0] -= torch.log(torch.tensor(2.0, dtype=torch.float64))
    log_w, positions = (torch.cat([z, z[..., :1]], -1) for z in (halved, positions))
    split = variant.average(y, y, y, log_w, evaluate, mask=view(MASKS[kind], positions))
    torch.testing.assert_close(split[..., :-1, :], whole, **CLOSE)


@pytest.mark.parametrize(("name", "kind"), SEEN)
@given(seed=seeds)
@several
def test_a_token_of_weight_zero_is_not_seen(name: str, kind: str, seed: int) -> None:
    x, log_w, positions = cloud(seed)
    variant, evaluate = strict(name), Auto()
    wanted = variant.average(x, x, x, log_w, evaluate, mask=view(MASKS[kind], positions))
    y = torch.cat([x, 3 + x[..., :1, :]], -2)
    positions = torch.cat([positions, positions[..., :1]], -1)
    log_w = torch.nn.functional.pad(log_w, (0, 1), value=-torch.inf)
    found = variant.average(y, y, y, log_w, evaluate, mask=view(MASKS[kind], positions))
    torch.testing.assert_close(found[..., :-1, :], wanted, **CLOSE)


@pytest.mark.parametrize(("name", "kind"), [(n, k) for n, e, k in CASES if e == "tree"])
def test_the_trees_give_the_field_of_dense_to_their_tolerance(name: str, kind: str) -> None:
    for seed in range(5):
        x, log_w, positions = cloud(seed)
        variant, mask = ATTENTIONS.build(name), view(MASKS[kind], positions)
        wanted = variant.average(x, x, x, log_w, Dense(), mask=mask)
        found = variant.average(x, x, x, log_w, ENGINES.build("tree"), mask=mask)
        size = wanted.abs().max() + x.abs().max()
        assert (found - wanted).abs().max() <= 1e-7 * size


@pytest.mark.parametrize(
    ("name", "engine", "kind"), [case for case in EXACT if case[1] != "dense"]
)
@given(seed=seeds, beta=st.sampled_from([1.0, -0.5]))
@several
def test_every_engine_gives_the_field_of_dense(
    name: str, engine: str, kind: str, seed: int, beta: float
) -> None:
    x, log_w, positions = cloud(seed)
    variant, mask = strict(name), view(MASKS[kind], positions)
    wanted = variant.average(x, x, x, log_w, Dense(), beta=beta, mask=mask)
    found = variant.average(x, x, x, log_w, ENGINES.build(engine), beta=beta, mask=mask)
    torch.testing.assert_close(found, wanted, **CLOSE)


@pytest.mark.parametrize(("name", "engine", "kind"), EXACT)
def test_rows_sum_to_what_is_declared(name: str, engine: str, kind: str) -> None:
    x, log_w, positions = cloud(5)
    variant, mask = ATTENTIONS.build(name), view(MASKS[kind], positions)
    identity = torch.eye(x.shape[-2], dtype=x.dtype)
    weights = variant.average(x, x, identity, log_w, ENGINES.build(engine), mask=mask)
    sums = weights.sum(-1)
    if variant.row_sum is None:
        assert not torch.allclose(sums, torch.ones_like(sums))
    else:
        assert (weights >= 0).all()
        torch.testing.assert_close(sums, torch.full_like(sums, variant.row_sum))
    assert variant.row_stochastic == (variant.row_sum == 1.0)


def test_sinkhorn_declares_the_sum_one_over_eps() -> None:
    x, log_w, _ = cloud(5)
    variant = build_attention("sinkhorn:eps=0.25")
    identity = torch.eye(x.shape[-2], dtype=x.dtype)
    sums = variant.average(x, x, identity, log_w, Dense()).sum(-1)
    assert variant.row_sum == 4.0
    assert not variant.row_stochastic
    torch.testing.assert_close(sums, torch.full_like(sums, 4.0))


@pytest.mark.parametrize(("name", "engine"), BOUNDED)
def test_huge_logits_stay_finite_or_are_refused(name: str, engine: str) -> None:
    g = torch.Generator().manual_seed(2)
    x = torch.randn(1, 5, 2, generator=g, dtype=torch.float64)
    x = x / x.norm(dim=-1, keepdim=True)
    flat = torch.zeros(1, 5, dtype=torch.float64).log_softmax(-1)
    # At this temperature Sinkhorn is an assignment problem: it converges slowly or says so.
    variant = Sinkhorn(max_sweeps=200) if name == "sinkhorn" else ATTENTIONS.build(name)
    for beta in (1e4, -1e4):
        try:
            seen = variant.average(x, x, x, flat, ENGINES.build(engine), beta=beta)
        except (NotConverged, EngineUnsupported):
            assert name == "sinkhorn"
            continue
        assert seen.isfinite().all()
        assert seen.norm(dim=-1).max() <= 1 + 1e-9


@pytest.mark.parametrize(("name", "engine"), SMOOTH)
def test_first_derivatives_pass_gradcheck(name: str, engine: str) -> None:
    x, log_w, _ = cloud(3, n=3)
    variant, evaluate = ATTENTIONS.build(name), ENGINES.build(engine)

    def field(q: Tensor, k: Tensor, v: Tensor, log_w: Tensor) -> Tensor:
        return variant.average(q, k, v, log_w.log_softmax(-1), evaluate)

    operands = [y[:1, :1].clone().requires_grad_() for y in (x, x + 0.1, x - 0.1, log_w)]
    assert torch.autograd.gradcheck(field, operands, atol=1e-5)


@pytest.mark.parametrize("name", [n for n in ATTENTIONS if n != "sinkhorn"])
def test_second_derivatives_of_dense_pass_gradgradcheck(name: str) -> None:
    x, log_w, _ = cloud(3, n=3)
    q, v = (y[:1, :1].clone().requires_grad_() for y in (x, x))
    variant = ATTENTIONS.build(name)
    assert torch.autograd.gradgradcheck(
        lambda q, v: variant.average(q, x[:1, :1], v, log_w[:1], Dense()), (q, v)
    )


def test_second_derivatives_pass_through_sinkhorn_too() -> None:
    x = torch.tensor([[[0.3], [-0.2]]], dtype=torch.float64, requires_grad=True)
    log_w = torch.zeros(1, 2, dtype=torch.float64).log_softmax(-1)
    variant = ATTENTIONS.build("sinkhorn")
    assert torch.autograd.gradgradcheck(lambda x: variant.average(x, x, x, log_w, Dense()), (x,))


@pytest.mark.parametrize("name", list(ATTENTIONS))
def test_a_token_that_sees_nothing_gets_zero_and_finite_gradients(name: str) -> None:
    x, log_w, positions = cloud(8, n=3)
    x.requires_grad_()
    alone = torch.tensor([[False, False, False], [False, True, True], [False, True, True]])
    mask = view(Explicit(alone), positions)
    seen = ATTENTIONS.build(name).average(x, x, x, log_w, Dense(), mask=mask)
    (gradient,) = torch.autograd.grad(seen.sum(), x)
    assert torch.equal(seen[..., 0, :], torch.zeros_like(seen[..., 0, :]))
    assert torch.equal(gradient[..., 0, :], torch.zeros_like(gradient[..., 0, :]))
    assert gradient.isfinite().all()


@pytest.mark.parametrize(("name", "engine"), UNMASKED)
def test_equal_calls_are_equal_bit_for_bit(name: str, engine: str) -> None:
    x, log_w, _ = cloud(4)
    variant, evaluate = ATTENTIONS.build(name), ENGINES.build(engine)
    first, second = (variant.average(x, x, x, log_w, evaluate) for _ in range(2))
    assert torch.equal(first, second)


@pytest.mark.parametrize("name", list(ATTENTIONS))
def test_members_of_a_batch_do_not_see_each_other(name: str) -> None:
    x, log_w, _ = cloud(6)
    variant = ATTENTIONS.build(name)
    both = variant.average(x, x, x, log_w, Dense())
    alone = variant.average(x[1:], x[1:], x[1:], log_w[1:], Dense())
    torch.testing.assert_close(both[1:], alone, rtol=1e-14, atol=1e-14)


@pytest.mark.parametrize("name", list(ATTENTIONS))
@given(data=st.data())
@several
def test_spec_builds_the_same_variant(name: str, data: st.DataObject) -> None:
    fields = dataclasses.fields(ATTENTIONS[name])  # type: ignore[arg-type]
    kinds = {True: st.integers(1, 99), False: st.floats(0.01, 0.9)}
    numbers = {f.name: data.draw(kinds[isinstance(f.default, int)]) for f in fields}
    variant = ATTENTIONS[name](**numbers)
    assert build_attention(attention_spec(variant)) == variant


@pytest.mark.parametrize("name", list(ATTENTIONS))
def test_docstring_has_a_formula_and_a_source(name: str) -> None:
    text = inspect.getdoc(ATTENTIONS[name]) or ""
    assert ".. math::" in text
    assert "Source:" in text


def test_every_variant_is_registered() -> None:
    defined = {
        kind
        for kind in Attention.__subclasses__()
        if kind.__module__.startswith("vlasov.") and kind is not HeadMixture
    }
    registered = {ATTENTIONS[name] for name in ATTENTIONS}
    assert defined == registered, "Put the class into the list in vlasov/attention/__init__.py."
    assert all(kind.__name__ in vlasov.attention.__all__ for kind in registered)


@pytest.mark.parametrize("name", list(ATTENTIONS))
def test_fused_answers_or_names_an_engine_that_does(name: str) -> None:
    x, log_w, _ = cloud(0)
    if (name, "fused") in UNMASKED:
        return
    with pytest.raises(EngineUnsupported, match="'tiled' or 'dense'"):
        ATTENTIONS.build(name).average(x, x, x, log_w, ENGINES.build("fused"))
