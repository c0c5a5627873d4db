"""The attention branch against torch's, and what positions, groups and query-key norms change."""

import pytest
import torch
from torch import nn
from torch.testing import assert_close

import vlasov as vl
from vlasov.errors import ShapeMismatch, Unsupported
from vlasov.transformer import AttentionLayer, TransformerConfig, random_tower
from vlasov.transformer.positions import Rotary, alibi_slopes, sinusoidal


def _layer(generator, qk_norm=False, **settings):
    config = TransformerConfig(**{"width": 8, "heads": 4, "positions": "none", **settings})
    layer = AttentionLayer(config, qk_norm=qk_norm).double()
    with torch.no_grad():
        for p in layer.parameters():
            p.copy_(torch.randn(p.shape, generator=generator, dtype=p.dtype) / 2)
    return layer


def _x(generator, n=6, d=8):
    return torch.randn(3, n, d, generator=generator, dtype=torch.float64)


def _log_w(x):
    return vl.Cloud(x).log_weights.unsqueeze(-2)


def test_it_is_torchs_attention_with_the_same_weights(generator):
    layer, x = _layer(generator), _x(generator)
    theirs = nn.MultiheadAttention(8, 4, batch_first=True, dtype=torch.float64)
    with torch.no_grad():
        theirs.in_proj_weight.copy_(torch.cat([layer.query, layer.key, layer.value]))
        theirs.in_proj_bias.copy_(torch.cat([layer.query_bias, layer.key_bias, layer.value_bias]))
        theirs.out_proj.weight.copy_(layer.output)
        theirs.out_proj.bias.copy_(layer.output_bias)
    found, wanted = layer(x, _log_w(x)), theirs(x, x, x, need_weights=False)[0]
    assert_close(found, wanted, rtol=0, atol=1e-13)
    target = torch.randn(x.shape, generator=generator, dtype=x.dtype)
    ours = torch.autograd.grad((found * target).sum(), [layer.value, layer.output])
    other = torch.autograd.grad(
        (wanted * target).sum(), [theirs.in_proj_weight, theirs.out_proj.weight]
    )
    assert_close(ours, (other[0][16:], other[1]), rtol=0, atol=1e-12)


def test_a07_heads_are_no_positions():
    x = torch.tensor([[1, 0, 0, 1], [0, 1, 1, 0], [1, 1, -1, 0]], dtype=torch.float64)
    layer = AttentionLayer(TransformerConfig(width=4, heads=2, positions="none")).double()
    with torch.no_grad():
        for name in ("query", "key", "value", "output"):
            getattr(layer, name).copy_(torch.eye(4))
    right = torch.tensor(
        [
            [0.802224, 0.598888, 0, 0.503490],
            [0.598888, 0.802224, 0.435946, 0.283995],
            [0.751745, 0.751745, -0.435946, 0.283995],
        ],
        dtype=torch.float64,
    )
    assert_close(layer(x, _log_w(x)), right, rtol=0, atol=1e-6)  # digits given


def test_grouped_keys_serve_neighbouring_query_heads(generator):
    grouped = _layer(generator, kv_heads=2)
    full = _layer(generator)
    with torch.no_grad():
        for name, p in full.named_parameters():
            p.copy_(getattr(grouped, name) if p.shape == getattr(grouped, name).shape else p)
        for name in ("key", "value"):
            for kind in ("", "_bias"):
                heads = getattr(grouped, name + kind).unflatten(0, (2, 2))
                getattr(full, name + kind).copy_(heads[[0, 0, 1, 1]].flatten(0, 1))
    x = _x(generator)
    assert_close(grouped(x, _log_w(x)), full(x, _log_w(x)), rtol=0, atol=1e-14)


@pytest.mark.parametrize("pairs", ["halves", "neighbours"])
def test_rotary_scores_depend_on_the_difference_of_positions(pairs, generator):
    q, k = torch.randn(2, 1, 6, generator=generator, dtype=torch.float64)
    turned_q, turned_k = Rotary(100.0, pairs)(q.expand(9, 6), k.expand(9, 6))
    scores = turned_q @ turned_k.mT
    for shift in range(-3, 4):
        diagonal = scores.diagonal(shift)
        assert_close(diagonal, diagonal[:1].expand_as(diagonal), rtol=0, atol=1e-14)
    assert scores[0].std() > 1e-2
    assert_close(turned_q.norm(dim=-1), q.norm(dim=-1).expand(9), rtol=0, atol=1e-14)


def test_rotary_angles_are_those_of_the_paper():
    q = torch.zeros(3, 4, dtype=torch.float64)
    q[:, 2] = 1.0
    angle = 2 * 100.0 ** (-2 / 4)  # token 2, second pair of four coordinates
    neighbours = Rotary(100.0, "neighbours")(q, q)[0][2]
    right = torch.tensor([0, 0, angle, angle], dtype=torch.float64)
    assert_close(neighbours[2:], torch.stack([right[2].cos(), right[3].sin()]))
    halves = Rotary(100.0, "halves")(q, q)[0][2]
    two = torch.tensor(2.0, dtype=torch.float64)
    assert_close(halves, torch.stack([-two.sin(), 0 * two, two.cos(), 0 * two]))


def test_sinusoids_and_slopes_are_those_of_their_papers():
    table = sinusoidal(5, 6)
    assert table.shape == (5, 6)
    assert_close(table[3, 2:4].norm(), torch.tensor(1.0, dtype=torch.float64))
    assert_close(table[3, 2], torch.tensor(3 * 10_000 ** (-1 / 3), dtype=torch.float64).sin())
    assert alibi_slopes(8) == tuple(2.0**-i for i in range(1, 9))


def test_a_query_key_norm_ignores_the_size_of_the_maps(generator):
    layer, x = _layer(generator, qk_norm=True, bias=False), _x(generator)
    before = layer(x, _log_w(x))
    with torch.no_grad():
        layer.query.mul_(5)
        layer.key.mul_(0.2)
    # eps = 1e-6 inside the root is not scaled with them
    assert_close(layer(x, _log_w(x)), before, rtol=1e-3, atol=1e-3)


def test_no_affine_map_stands_for_turned_queries(generator):
    with pytest.raises(Unsupported, match="Rotary"):
        _layer(generator, positions="rotary").projections().maps()


def test_merged_value_maps_move_tokens_alike(generator):
    layer, x = _layer(generator), _x(generator)
    merged = vl.Projections(**layer.projections().maps())
    assert merged.maps()["value"].shape == (4, 8, 8)
    pde = vl.TransformerPDE("softmax", merged, beta=layer.beta)
    assert_close(vl.velocity(pde, vl.Cloud(x)), layer(x, _log_w(x)), rtol=0, atol=1e-13)


def test_log_weights_need_the_axis_of_the_heads(generator):
    x = _x(generator)
    with pytest.raises(ShapeMismatch, match="insert an axis for the heads"):
        _layer(generator)(x[0], torch.zeros(6, dtype=torch.float64))


def test_a_tower_without_attention_has_no_projections():
    tower = random_tower(4, 2, attention="none")
    with pytest.raises(Unsupported, match="no projections"):
        tower.projections(0)
