"""V62: under a causal mask no output depends on a later input, exactly."""

import pytest
import torch

import vlasov as vl
from vlasov.errors import Unsupported
from vlasov.transformer import NORMS, Stabilisers, Transformer, TransformerConfig

N = 6
CAUSAL = [name for name in vl.ATTENTIONS if name != "sinkhorn"]


def _leaks(generator, norm="pre", qk_norm=False, **settings):
    """The largest derivative of an output by a later input, and by earlier ones."""
    config = TransformerConfig(width=8, depth=2, heads=2, causal=True, **settings)
    model = Transformer(config, Stabilisers(norm=norm, qk_norm=qk_norm), dtype=torch.float64)
    x = torch.randn(1, N, 8, generator=generator, dtype=torch.float64).requires_grad_()
    after = model.states(model.embed(x))[-1]
    later, earlier = 0.0, 0.0
    for i in range(N):
        weights = torch.randn(8, generator=generator, dtype=torch.float64)
        slope = torch.autograd.grad(after[0, i] @ weights, x, retain_graph=True)[0][0]
        later = max(later, float(slope[i + 1 :].abs().sum()))
        earlier = max(earlier, float(slope[:i].abs().sum()))
    return later, earlier


@pytest.mark.parametrize("attention", CAUSAL)
@pytest.mark.parametrize("positions", ["none", "alibi"])
def test_v62_no_variant_leaks(attention, positions, generator):
    later, earlier = _leaks(generator, attention=attention, positions=positions)
    assert later == 0.0 < earlier


@pytest.mark.parametrize("engine", ["dense", "tiled", "fused"])
@pytest.mark.parametrize("positions", ["sinusoidal", "rotary", "learned"])
def test_v62_no_engine_or_position_leaks(engine, positions, generator):
    later, earlier = _leaks(generator, engine=engine, positions=positions, qk_norm=True)
    assert later == 0.0 < earlier


@pytest.mark.parametrize("norm", [name for name in NORMS if name != "sandwich"])
def test_v62_no_norm_leaks(norm, generator):
    later, earlier = _leaks(generator, norm=norm, positions="none", mlp="swiglu")
    assert later == 0.0 < earlier


def test_v62_the_test_sees_a_leak(generator):
    config = TransformerConfig(width=8, depth=1, heads=2, positions="none")
    model = Transformer(config, dtype=torch.float64)
    x = torch.randn(1, N, 8, generator=generator, dtype=torch.float64).requires_grad_()
    slope = torch.autograd.grad(model.states(x)[-1][0, 0].sum(), x)[0]
    assert slope[0, 1:].abs().min() > 0


def test_sinkhorn_refuses_a_causal_mask(generator):
    with pytest.raises(Unsupported, match="bistochastic"):
        _leaks(generator, attention="sinkhorn", positions="none")


@pytest.mark.parametrize("positions", ["none", "alibi"])
def test_v62_places_that_bfloat16_cannot_tell_apart_do_not_leak(positions):
    settings = {"width": 8, "depth": 1, "heads": 2, "vocabulary": 5, "head": "language"}
    config = TransformerConfig(causal=True, positions=positions, engine="dense", **settings)
    model = Transformer(config, dtype=torch.bfloat16)
    tokens = torch.zeros(1, 300, dtype=torch.long)
    other = tokens.clone()
    other[0, 280] = 1
    moved = (model(tokens) - model(other)).abs().amax(-1)[0]
    assert moved[:280].max() == 0 < moved[280:].max()
