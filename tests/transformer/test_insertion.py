"""Models with diffusion at the seven positions: where it acts, and what it leaves alone."""

from typing import cast

import pytest
import torch
from torch.testing import assert_close

from vlasov.errors import InvalidValue, Unsupported
from vlasov.pretrained.switched import with_stabilisers
from vlasov.transformer import (
    POSITIONS_OF_DIFFUSION,
    Diffusion,
    DiffusionLayer,
    Diffusions,
    Stabilisers,
    Transformer,
    TransformerConfig,
    pde_of,
)
from vlasov.transformer.norm_layers import PreLayer

pytestmark = pytest.mark.usefixtures("unchecked_types")

SIZES = {"width": 8, "depth": 2, "heads": 4, "vocabulary": 11, "classes": 3, "max_positions": 16}
TOKENS = torch.tensor([[3, 1, 4, 1, 5, 9, 2], [6, 5, 3, 0, 0, 0, 0]])
PADDING = TOKENS == 0
EVERYWHERE = "+".join(f"{name}:1,2" for name in POSITIONS_OF_DIFFUSION)


def _model(text="none", stabilisers=None, **settings):
    config = TransformerConfig(**{**SIZES, **settings})
    diffusions = Diffusions.parse(text)
    return Transformer(config, stabilisers, diffusions=diffusions, seed=3, dtype=torch.float64)


def _diffused(model, name):
    return cast(DiffusionLayer, dict(model.named_modules())[name])


@pytest.mark.parametrize("shared", [False, True])
def test_the_weights_of_a_seed_are_the_same_with_and_without(shared):
    plain = _model(stabilisers=Stabilisers(shared=shared)).state_dict()
    found = _model(EVERYWHERE, Stabilisers(shared=shared)).state_dict()
    assert set(plain) < set(found)
    assert all(torch.equal(found[name], value) for name, value in plain.items())
    added = {name.rsplit(".", 1)[1] for name in set(found) - set(plain)}
    assert added == {"alpha_logits", "weight_logits"}


def test_strengths_start_to_the_last_digit():
    layer = _model("after-embedding;alpha=0.1").after_embedding
    assert_close(layer.alphas(), torch.full((1, 8), 0.1, dtype=torch.float64), rtol=1e-15, atol=0)


@pytest.mark.parametrize("name", POSITIONS_OF_DIFFUSION)
def test_a_tiny_strength_is_the_model_without(name):
    plain = _model()(TOKENS, PADDING)
    assert_close(_model(f"{name};alpha=1e-12")(TOKENS, PADDING), plain, rtol=0, atol=1e-9)
    assert (_model(f"{name};alpha=0.2")(TOKENS, PADDING) - plain).abs().max() > 1e-5


@pytest.mark.parametrize("norm", ["pre", "post", "peri", "deepnorm"])
def test_padded_rows_score_like_themselves_alone(norm):
    model = _model(EVERYWHERE, Stabilisers(norm=norm))
    alone = model(TOKENS[1:, :3])
    assert_close(model(TOKENS, PADDING)[1:], alone, rtol=0, atol=1e-13)


@pytest.mark.parametrize("side", ["left", "right"])
def test_the_side_of_the_padding_changes_nothing(side):
    model = _model(EVERYWHERE, positions="none")
    tokens = TOKENS[1:].flip(-1) if side == "left" else TOKENS[1:]
    alone = model(tokens[tokens != 0].unsqueeze(0))
    assert_close(model(tokens, tokens == 0), alone, rtol=0, atol=1e-13)


def test_v62_no_position_leaks_under_a_causal_mask(generator):
    model = _model(EVERYWHERE, causal=True, vocabulary=0, classes=0, positions="none")
    x = torch.randn(1, 6, 8, generator=generator, dtype=torch.float64).requires_grad_()
    after = model.states(x)[-1]
    for i in range(6):
        slope = torch.autograd.grad(after[0, i].square().sum(), x, retain_graph=True)[0][0]
        assert (slope[i + 1 :] == 0).all()
        assert (slope[: i + 1] != 0).any()


@pytest.mark.parametrize("name", POSITIONS_OF_DIFFUSION)
def test_every_strength_is_trained(name):
    model = _model(f"{name}:1,2")
    model(TOKENS, PADDING).logsumexp(-1).sum().backward()
    strengths = [p for key, p in model.named_parameters() if key.endswith("_logits")]
    assert strengths
    assert all(p.grad is not None and p.grad.abs().max() > 0 for p in strengths)


@pytest.mark.parametrize("text", ["after-embedding:1,2,4", "after-mlp", "before-norm"])
def test_a_prenorm_model_keeps_no_more_for_its_gradients(text):
    sizes = {"width": 64, "heads": 4, "max_positions": 256}
    tokens = torch.ones(1, 256, dtype=torch.long)

    def kept(model):
        found = {}
        with torch.autograd.graph.saved_tensors_hooks(
            lambda x: found.update({x.data_ptr(): x.untyped_storage().nbytes()}) or x,
            lambda x: x,
        ):
            model(tokens)
        return sum(found.values())

    plain = kept(_model(**sizes))
    assert abs(kept(_model(text, **sizes)) / plain - 1) < 0.01


def test_states_are_diffused_where_the_names_say():
    """Against the plain model, whose blocks and layers are taken by hand."""
    plain, log_w = _model(), torch.zeros(1, 7, dtype=torch.float64)
    x = plain.embed(TOKENS[:1])
    model = _model("after-embedding")
    first = _diffused(model, "after_embedding")(x)
    assert torch.equal(model.states(x)[0], first)
    model = _model("after-mlp")
    after = _diffused(model, "blocks.0.diffusions.after_mlp")(plain.layer(0, x, log_w))
    assert torch.equal(model.layer(0, x, log_w), after)
    model = _model("between-layers")
    between = _diffused(model, "blocks.0.diffusions.between_layers")
    assert torch.equal(model.layer(0, x, log_w), between(plain.layer(0, x, log_w)))
    assert torch.equal(model.layer(1, x, log_w), plain.layer(1, x, log_w))
    plain, model = _model(mlp="none"), _model("after-attention", mlp="none")
    attended = _diffused(model, "blocks.0.diffusions.after_attention")
    assert torch.equal(model.layer(0, x, log_w), attended(plain.layer(0, x, log_w)))


def test_before_norm_smooths_the_branch_and_not_the_residual():
    x = _model().embed(TOKENS[:1])
    log_w = torch.zeros(1, 7, dtype=torch.float64)
    plain = _model(attention="none")
    model = _model("before-norm", attention="none")
    block = plain.block(0)
    assert block.mlp is not None
    norm = cast(PreLayer, block.mlp_norm).norm
    smooth = _diffused(model, "blocks.0.diffusions.before_mlp_norm")(x)
    assert_close(model.layer(0, x, log_w), x + block.mlp(norm(smooth)), rtol=0, atol=1e-14)


def _attention_matrix(model, x):
    """Weights (h, n, n) of the first layer, and its values and output maps."""
    maps = model.projections(0)
    q, k, v = maps.project(x)
    return (model.config.score_factor * q @ k.mT).softmax(-1), v, maps


@pytest.mark.parametrize("form", ["values", "weights", "conservative weights"])
def test_diffusion_of_values_and_of_weights_along_keys(form, generator):
    flags = {"values": "", "weights": ";transposed"}.get(form, ";transposed;conservative")
    settings = {"vocabulary": 0, "classes": 0, "mlp": "none", "positions": "none"}
    model = _model(f"in-attention:1,2,4{flags}", Stabilisers(norm="none"), **settings)
    x = torch.randn(6, 8, generator=generator, dtype=torch.float64)
    weights, values, maps = _attention_matrix(model, x)
    layer = _diffused(model, "blocks.0.diffusions.in_attention")
    if form == "values":
        values = layer(values)
    else:
        rows = layer.rates()[:, 0]  # the same in every channel at the start
        along_keys = weights.transpose(-1, -2)
        ends = Diffusion(conservative="conservative" in form)
        stencil = DiffusionLayer(6, ends).double()
        stencil.reset_parameters()
        assert_close(stencil.rates()[:, 0], rows, rtol=1e-12, atol=0)
        weights = stencil(along_keys).transpose(-1, -2)
        kept = torch.allclose(weights.sum(-1), torch.ones(6, dtype=torch.float64))
        assert kept == ("conservative" in form)  # replicated ends: rows no longer sum to 1
    wanted = x + maps.gather(weights @ values)
    assert_close(model.layer(0, x, torch.zeros(6, dtype=torch.float64)), wanted)


def test_across_heads_mixes_what_neighbouring_heads_saw(generator):
    settings = {"vocabulary": 0, "classes": 0, "mlp": "none", "positions": "none"}
    model = _model("across-heads", Stabilisers(norm="none"), **settings)
    x = torch.randn(6, 8, generator=generator, dtype=torch.float64)
    weights, values, maps = _attention_matrix(model, x)
    seen = weights @ values
    matrix = torch.eye(4, dtype=torch.float64)
    for a, b in ((0, 1), (1, 2), (2, 3)):
        matrix[a, a] -= 0.1
        matrix[b, b] -= 0.1
        matrix[a, b] += 0.1
        matrix[b, a] += 0.1
    wanted = x + maps.gather(torch.einsum("gh,hnk->gnk", matrix, seen))
    assert_close(model.layer(0, x, torch.zeros(6, dtype=torch.float64)), wanted)


@pytest.mark.parametrize(
    ("text", "stabilisers", "settings", "error", "words"),
    [
        ("after-mlp", None, {"mlp": "none"}, Unsupported, "needs an MLP"),
        ("in-attention", None, {"attention": "none"}, Unsupported, "needs attention"),
        ("before-norm", Stabilisers("none"), {}, Unsupported, "needs a norm in its blocks"),
        ("across-heads:1,4", None, {}, InvalidValue, "strides below the 4 heads"),
        ("after-mlp", Stabilisers("sphere"), {}, Unsupported, "off the sphere of norm='sphere'"),
        ("between-layers", Stabilisers("ngpt"), {}, Unsupported, "off the sphere"),
        ("after-mlp;conservative", None, {"causal": True}, Unsupported, "'conservative' is set"),
    ],
)
def test_positions_that_a_model_does_not_have_are_refused(
    text, stabilisers, settings, error, words
):
    with pytest.raises(error, match=words):
        _model(text, stabilisers, **settings)


def test_short_rows_are_refused_by_the_model():
    with pytest.raises(InvalidValue, match="one has 3"):
        _model("after-mlp:1,4")(TOKENS, PADDING)


def test_an_equation_takes_diffusion_as_its_first_points_only():
    assert pde_of(_model("after-embedding")).attention == pde_of(_model()).attention
    with pytest.raises(Unsupported, match="has some between-layers"):
        pde_of(_model("between-layers"))


def test_other_stabilisers_keep_the_diffusion():
    model = _model("after-embedding+after-mlp", Stabilisers("post"))
    switched = with_stabilisers(model, Stabilisers("pre"))
    assert switched.diffusions == model.diffusions
    kept = dict(switched.named_parameters())
    for name, parameter in model.named_parameters():
        if name.endswith("_logits"):
            assert kept[name] is parameter
    with pytest.raises(Unsupported, match="needs an MLP"):
        with_stabilisers(model, Stabilisers("pre"), mlp=False)
