"""The model against torch's encoder, its padding, heads, shared weights, and what it refuses."""

import pytest
import torch
from torch import nn
from torch.testing import assert_close

import vlasov as vl
from vlasov.errors import InvalidValue, NotFinite, ShapeMismatch, UnknownName, Unsupported
from vlasov.transformer import Stabilisers, Transformer, TransformerConfig, byte_tokens
from vlasov.transformer.config import POOLINGS, POSITIONS

SIZES = {"width": 8, "depth": 2, "heads": 2, "vocabulary": 11}
LONG = torch.tensor([[3, 1, 4, 1, 5]])
SHORT = torch.tensor([[9, 2, 6]])


def _model(stabilisers=None, **settings):
    config = TransformerConfig(**{**SIZES, **settings})
    return Transformer(config, stabilisers, seed=1, dtype=torch.float64)


def _copied(ours, theirs):
    """Torch's encoder layers with the weights of our blocks."""
    for block, layer in zip(ours.blocks, theirs.layers, strict=True):
        a, mlp = block.attention, block.mlp
        state = {
            "self_attn.in_proj_weight": torch.cat([a.query, a.key, a.value]),
            "self_attn.in_proj_bias": torch.cat([a.query_bias, a.key_bias, a.value_bias]),
            "self_attn.out_proj.weight": a.output,
            "self_attn.out_proj.bias": a.output_bias,
            "linear1.weight": mlp.inner,
            "linear1.bias": mlp.inner_bias,
            "linear2.weight": mlp.outer,
            "linear2.bias": mlp.outer_bias,
        }
        norms = (block.attention_norm.norm, block.mlp_norm.norm)
        for number, norm in enumerate(norms, start=1):
            state |= {f"norm{number}.weight": norm.weight, f"norm{number}.bias": norm.bias}
        layer.load_state_dict(state)


@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize("mlp", ["relu", "gelu"])
def test_it_is_torchs_encoder_with_the_same_weights(norm, mlp, generator):
    ours = _model(Stabilisers(norm=norm), mlp=mlp)
    with torch.no_grad():
        for p in ours.parameters():
            p.add_(torch.randn(p.shape, generator=generator, dtype=p.dtype) / 5)
    layer = nn.TransformerEncoderLayer(
        8, 2, 32, dropout=0.0, activation=mlp, batch_first=True, norm_first=norm == "pre"
    )
    last = ours.leave if norm == "pre" else None
    theirs = nn.TransformerEncoder(layer, 2, norm=last, enable_nested_tensor=False).double()
    _copied(ours, theirs)
    x = ours.embed(LONG)
    found, wanted = ours.leave(ours.states(x)[-1]), theirs(x)
    assert_close(found, wanted, rtol=0, atol=1e-13)
    assert_close(ours(LONG), wanted.mean(-2), rtol=0, atol=1e-13)


def test_e07_a_padded_cloud_moves_like_the_same_cloud_alone():
    config = TransformerConfig(width=1, depth=1, heads=1, beta=1.0, mlp="none", positions="none")
    model = Transformer(config, Stabilisers(norm="none", residual=False), dtype=torch.float64)
    with torch.no_grad():
        for name in ("query", "key", "value", "output"):
            getattr(model.blocks[0].attention, name).fill_(1.0)
    x = torch.tensor([[[1.0], [2.0], [0.0]], [[1.0], [2.0], [3.0]]], dtype=torch.float64)
    padding = torch.tensor([[False, False, True], [False, False, False]])
    moved = model.states(x, padding)[-1]
    right = torch.tensor([[1.731059], [1.880797]], dtype=torch.float64)
    assert_close(moved[0, :2], right, rtol=0, atol=1e-6)  # digits given


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize(
    "settings",
    [{"attention": name} for name in vl.ATTENTIONS]
    + [{"positions": name} for name in ("none", "learned", "rotary", "alibi")]
    + [{"causal": True, "positions": name} for name in ("sinusoidal", "rotary", "alibi")]
    + [{"pooling": "cls"}, {"pooling": "last"}, {"pooling": "last", "causal": True}],
    ids=lambda settings: "-".join(map(str, settings.values())),
)
def test_e07_a_padded_sequence_gives_what_it_gives_alone(settings, side):
    model = _model(classes=3, **settings)
    fill = torch.zeros(1, 2, dtype=torch.long)
    parts = (fill, SHORT) if side == "left" else (SHORT, fill)
    padding = torch.zeros(2, 5, dtype=torch.bool)
    padding[1, : 2 if side == "left" else None] = True
    if side == "right":
        padding[1] = torch.tensor([False, False, False, True, True])
    batch = torch.cat([LONG, torch.cat(parts, dim=1)])
    found = model(batch, padding)
    alone = torch.cat([model(LONG), model(SHORT)])
    tolerance = 1e-9 if settings.get("attention") == "sinkhorn" else 1e-12  # its own tolerance
    assert_close(found, alone, rtol=0, atol=tolerance)


@pytest.mark.parametrize("where", [(0, 1), (1, 2), (1, 4)], ids=["left", "inside", "apart"])
@pytest.mark.parametrize("pooling", POOLINGS)
@pytest.mark.parametrize("positions", POSITIONS)
@pytest.mark.parametrize("attention", ["softmax", "l2"])
def test_e07_padding_shifts_no_place(attention, positions, pooling, where):
    padding = torch.zeros(2, 5, dtype=torch.bool)
    padding[1, list(where)] = True
    batch = LONG.repeat(2, 1)
    batch[1, ~padding[1]] = SHORT
    for causal in (False,) if pooling == "cls" else (False, True):
        sizes = {"positions": positions, "pooling": pooling, "causal": causal}
        model = _model(Stabilisers(qk_norm=True), classes=3, attention=attention, **sizes)
        alone = torch.cat([model(LONG), model(SHORT)])
        assert_close(model(batch, padding), alone, rtol=0, atol=1e-12)
        states = model.states(x := model.embed(batch, padding), padding)
        layer = model.layer(0, states[0], model.log_weights(x, padding))
        assert_close(layer, states[1], rtol=0, atol=0)


@pytest.mark.parametrize("positions", ["rotary", "alibi"])
def test_the_place_of_a_token_matters(positions):
    model = _model(classes=3, positions=positions)
    swapped = SHORT[:, [1, 0, 2]]
    assert (model(SHORT) - model(swapped)).abs().max() > 1e-6


@pytest.mark.parametrize("positions", POSITIONS)
def test_only_tokens_without_positions_can_be_any_number(positions):
    model = _model(max_positions=4, positions=positions)
    assert model(LONG[:, :4]).shape == (1, 8)
    if positions == "none":
        assert model(LONG).shape == (1, 8)
    else:
        with pytest.raises(InvalidValue, match="has 4 positions but the sequence has 5 tokens"):
            model(LONG)


@pytest.mark.usefixtures("unchecked_types")
def test_the_name_of_a_norm_is_no_stabilisers():
    with pytest.raises(InvalidValue, match=r"but got 'pre'; write Stabilisers\(norm='pre'\)"):
        Transformer(TransformerConfig(**SIZES), "pre")


def test_what_padding_holds_changes_nothing():
    model = _model(classes=3)
    padding = torch.tensor([[False, False, False, True, True]])
    one, other = torch.tensor([[9, 2, 6, 0, 0]]), torch.tensor([[9, 2, 6, 7, 10]])
    assert_close(model(one, padding), model(other, padding), rtol=0, atol=1e-15)
    x = model.embed(other).detach().requires_grad_()
    slope = torch.autograd.grad(model.states(x, padding)[-1][0, :3].sum(), x)[0]
    assert slope[0, 3:].abs().max() == 0.0 < slope[0, :3].abs().min()


def test_a06_dropout_is_off_in_evaluation_and_on_in_training():
    model, plain = _model(dropout=0.5), _model()
    model.eval()
    assert_close(model(LONG), plain(LONG), rtol=0, atol=0)
    model.train()
    torch.manual_seed(0)
    assert not torch.equal(model(LONG), model(LONG))


def test_e05_shared_weights_are_saved_and_loaded_once(tmp_path):
    shared = Stabilisers(shared=True)
    model = _model(shared, depth=4)
    count = sum(p.numel() for p in model.parameters())
    torch.save(model.state_dict(), tmp_path / "weights.pt")
    saved = torch.load(tmp_path / "weights.pt")
    assert sum(x.numel() for x in saved.values()) == count
    again = Transformer(model.config, shared, seed=2, dtype=torch.float64)
    again.load_state_dict(saved)
    assert sum(p.numel() for p in again.parameters()) == count
    assert again.block(3) is again.block(0)
    assert_close(again(LONG), model(LONG), rtol=0, atol=0)
    apart = _model(depth=4)
    blocks = sum(p.numel() for p in model.blocks.parameters())
    assert sum(p.numel() for p in apart.parameters()) == count + 3 * blocks


def test_a_language_head_scores_the_next_token():
    config = {"causal": True, "head": "language"}
    assert _model(**config)(LONG).shape == (1, 5, 11)
    tied = _model(**config, tied=True)
    assert tied.head.out is None
    x = tied.leave(tied.states(tied.embed(LONG))[-1])
    assert_close(tied(LONG), x @ tied.embedding.table.mT)


def test_two_towers_take_pairs_in_order():
    model = _model(head="two-tower", classes=2)
    pairs = torch.stack([torch.tensor([[3, 1, 4]]), SHORT], dim=1)
    scores = model(pairs)
    assert scores.shape == (1, 2)
    assert not torch.allclose(scores, model(pairs.flip(1)))
    with pytest.raises(ShapeMismatch, match="axis of length 2"):
        model(LONG)


def test_patches_and_points_are_tokens_too(generator):
    patches = torch.randn(2, 4, 3, generator=generator, dtype=torch.float64)
    model = _model(vocabulary=0, patch=3, classes=5)
    assert model(patches).shape == (2, 5)
    with pytest.raises(NotFinite):
        model(patches * torch.nan)
    with pytest.raises(ShapeMismatch, match="3 numbers"):
        model(patches[..., :2])


def test_bytes_are_tokens():
    ids, padding = byte_tokens(["né", "a"])
    assert ids.tolist() == [[110, 195, 169], [97, 0, 0]]
    assert padding.tolist() == [[False, False, False], [False, True, True]]
    model = _model(vocabulary=0, bytes=True)
    assert model(ids, padding).shape == (2, 8)
    with pytest.raises(InvalidValue, match="1 of 2 are empty"):
        byte_tokens(["a", ""])


def test_a_seed_gives_the_same_weights_and_another_one_others():
    same = [_model(classes=2)(LONG) for _ in range(2)]
    assert_close(*same, rtol=0, atol=0)
    other = Transformer(_model().config, seed=5, dtype=torch.float64)
    assert not torch.allclose(other(LONG), _model()(LONG))


@pytest.mark.parametrize("init", ["gaussian", "he", "torch"])
def test_every_init_keeps_the_size_of_a_branch(init):
    model = _model(width=256, heads=4, init=init, mlp="relu")
    for name, p in model.blocks.named_parameters():
        if p.ndim == 2:
            before = name.endswith("inner")
            gain = {"he": 2.0, "torch": 1 / 3}.get(init, 1.0) if before else 1.0
            assert abs(p.var() * p.shape[1] / gain - 1) < 0.1 or init == "torch", name


def test_deepnorm_starts_with_smaller_values():
    plain, deep = _model(Stabilisers(norm="post")), _model(Stabilisers(norm="deepnorm"))
    ratio = deep.blocks[0].attention.value / plain.blocks[0].attention.value
    assert_close(ratio, torch.full_like(ratio, 0.5))  # (8 * 2)^(-1/4)
    assert_close(deep.blocks[0].attention.query, plain.blocks[0].attention.query)


@pytest.mark.parametrize(
    ("settings", "error", "phrase"),
    [
        ({"depth": 0}, InvalidValue, "depth of at least 1 but got 0"),
        ({"width": 9}, InvalidValue, "9 is no multiple of 2"),
        ({"heads": 4, "kv_heads": 3}, InvalidValue, "4 is no multiple of 3"),
        ({"head_width": 0}, InvalidValue, "head_width must be at least 1"),
        ({"head_width": 3, "positions": "rotary"}, InvalidValue, "make it even"),
        ({"mlp_width": 0}, InvalidValue, "mlp_width must be at least 1"),
        ({"dropout": 1.0}, InvalidValue, "share in"),
        ({"beta": float("inf")}, InvalidValue, "finite number"),
        ({"rotary_base": 0.0}, InvalidValue, "above 0"),
        ({"classes": -1}, InvalidValue, "cannot be negative"),
        ({"bytes": True}, InvalidValue, "one of the three"),
        ({"head": "language"}, Unsupported, "causal=True"),
        ({"causal": True, "pooling": "cls"}, Unsupported, "take pooling='last' or 'mean'"),
        ({"head": "language", "causal": True, "vocabulary": 0}, Unsupported, "there is none"),
        ({"positions": "rotry"}, UnknownName, "did you mean 'rotary'"),
        ({"mlp": "glu"}, UnknownName, "mlp"),
        ({"attention": "sotfmax"}, UnknownName, "softmax"),
        ({"engine": "warp"}, UnknownName, "engine"),
    ],
)
def test_sizes_that_do_not_fit_are_refused(settings, error, phrase):
    with pytest.raises(error, match=phrase):
        TransformerConfig(**{**SIZES, **settings})


@pytest.mark.usefixtures("unchecked_types")
def test_inputs_that_do_not_fit_are_refused():
    model = _model(max_positions=4)
    for inputs, phrase in (
        (LONG, "has 4 positions but the sequence has 5"),
        (torch.zeros(1, 0, dtype=torch.long), "one token at least"),
        (torch.tensor([[11]]), "entries 0 to 10 but the inputs hold 11"),
        (torch.tensor([[-1, 2]]), "hold -1"),
        (torch.tensor([[0.5]]), "whole numbers"),
    ):
        with pytest.raises(InvalidValue, match=phrase):
            model(inputs)
    with pytest.raises(InvalidValue, match="all padding"):
        model(SHORT, torch.ones(1, 3, dtype=torch.bool))
    with pytest.raises(ShapeMismatch, match="True is padding"):
        model(SHORT, torch.ones(1, 2, dtype=torch.bool))
    with pytest.raises(InvalidValue, match="layers 0 to 1 but 2"):
        model.block(2)
