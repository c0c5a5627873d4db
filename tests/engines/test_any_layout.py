"""What every engine takes: any layout in memory, and any finite numbers; gradients, or says no."""

import math

import pytest
import torch

from vlasov.engines import ENGINES, Dense, Fused
from vlasov.errors import EngineUnsupported

N = 12


def _operands():
    """Multiples of 1/64: their mean is the same in any order of addition."""
    g = torch.Generator().manual_seed(1)
    shapes = [(2, 3, N, 2), (2, 3, N, 2), (2, 3, N, 3), (2, 1, N)]
    return [(16 * torch.randn(*s, generator=g, dtype=torch.float64)).round() / 64 for s in shapes]


def _across(x):
    """The same numbers, with the last axis first in memory."""
    return x.movedim(-1, 0).contiguous().movedim(0, -1)


def _apart(x):
    """The same numbers, every second one of a larger tensor."""
    return x.repeat_interleave(2, dim=-1)[..., ::2]


def _sums(engine, operands):
    q, k, v, logits = operands
    prepared = engine.prepared(q, k)
    return [
        engine.average(q, k, v, logits),
        engine.log_sum(q, k, logits),
        *engine.average_and_log_sum(q, k, v, logits),
        prepared.log_sum(logits),
        prepared.average(v, logits),
    ]


@pytest.mark.parametrize("layout", [_across, _apart], ids=["across", "apart"])
@pytest.mark.parametrize("name", ENGINES)
def test_the_layout_in_memory_changes_nothing(name, layout):
    engine, operands = ENGINES.build(name), _operands()
    moved = [layout(x) for x in operands]
    assert not any(x.is_contiguous() for x in moved)
    for found, wanted in zip(_sums(engine, moved), _sums(engine, operands), strict=True):
        # other strides may take another order of addition
        torch.testing.assert_close(found, wanted, rtol=0, atol=1e-14)


@pytest.mark.parametrize("name", ENGINES)
def test_an_expanded_tensor_is_its_copies(name):
    engine, operands = ENGINES.build(name), _operands()
    first = [x[:1, :1] for x in operands]
    expanded = [x.expand(2, 3, *x.shape[2:]) for x in first]
    copied = [x.contiguous() for x in expanded]
    for found, wanted in zip(_sums(engine, expanded), _sums(engine, copied), strict=True):
        torch.testing.assert_close(found, wanted, rtol=0, atol=1e-14)


@pytest.mark.parametrize("number", range(4), ids=["q", "k", "v", "logits"])
@pytest.mark.parametrize("name", ENGINES)
def test_a_gradient_is_that_of_dense_or_refused_by_name(name, number):
    engine, operands = ENGINES.build(name), _operands()
    operands[number].requires_grad_()
    if name in ("tree", "monomials"):
        with pytest.raises(EngineUnsupported, match="was asked for a gradient"):
            engine.average(*operands)
        return
    found, wanted = (
        torch.autograd.grad(e.average(*operands).square().sum(), operands[number])[0]
        for e in (engine, Dense())
    )
    if name == "rbm":  # an estimate
        assert found.isfinite().all()
    else:
        torch.testing.assert_close(found, wanted, rtol=0, atol=1e-13)


@pytest.mark.parametrize("engine", [Dense(), Fused()], ids=["dense", "fused"])
def test_finite_numbers_whose_sum_overflows_are_no_infinity(engine):
    q = torch.full((1, 3, 2), 1.7e308, dtype=torch.float64)
    k, flat = torch.zeros(1, 4, 2, dtype=torch.float64), torch.zeros(1, 4, dtype=torch.float64)
    v = torch.arange(8.0, dtype=torch.float64).reshape(1, 4, 2)
    assert torch.equal(engine.average(q, k, v, flat), torch.tensor([[[3.0, 4.0]] * 3]).double())
    far = torch.full_like(k, 1e200)
    assert engine.log_sum(0 * q, far, flat).tolist() == [[math.log(4)] * 3]
