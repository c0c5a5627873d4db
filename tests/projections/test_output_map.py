"""Narrow values under an output map are the wide values of their product."""

import pytest
import torch
from torch.testing import assert_close

import vlasov as vl
from vlasov.errors import ShapeMismatch, Unsupported

H, D, M, K = 3, 5, 2, 4


def _draw(generator, *shape):
    return torch.randn(*shape, generator=generator, dtype=torch.float64) / 2


def _maps(generator, output_bias=True):
    maps = {
        "query": _draw(generator, H, K, D),
        "key": _draw(generator, H, K, D),
        "value": _draw(generator, H, M, D),
        "output": _draw(generator, H, D, M),
        "value_bias": _draw(generator, H, M),
    }
    return maps | ({"output_bias": _draw(generator, D)} if output_bias else {})


def _wide(maps):
    """The same values in R^d, written out."""
    value = torch.stack([o @ v for o, v in zip(maps["output"], maps["value"], strict=True)])
    offset = torch.stack([o @ b for o, b in zip(maps["output"], maps["value_bias"], strict=True)])
    if "output_bias" in maps:
        offset = offset + maps["output_bias"] / H
    return vl.Projections(maps["query"], maps["key"], value, value_bias=offset)


def _cloud(generator):
    return vl.Cloud(_draw(generator, 2, 7, D))


@pytest.mark.parametrize(
    "attention", ["softmax", "l2", "sinkhorn", "sigmoid", "linear", "hardmax"]
)
def test_tokens_move_as_under_the_wide_values(attention, generator):
    maps = _maps(generator, output_bias=attention in ("softmax", "l2", "sinkhorn", "hardmax"))
    cloud = _cloud(generator)
    narrow, wide = (
        vl.velocity(vl.TransformerPDE(attention, one), cloud)
        for one in (vl.Projections(**maps), _wide(maps))
    )
    assert_close(narrow, wide, rtol=0, atol=1e-12)


def test_the_output_bias_is_added_once_whatever_the_weights(generator):
    maps, cloud = _maps(generator), _cloud(generator)
    bare = {name: one for name, one in maps.items() if name != "output_bias"}
    with_bias, without = (
        vl.velocity(vl.TransformerPDE("sigmoid", vl.Projections(**one)), cloud)
        for one in (maps, bare)
    )
    assert_close(with_bias - without, maps["output_bias"].expand(2, 7, D))


def test_affine_maps_include_the_output(generator):
    maps = _maps(generator)
    assert_close(vl.Projections(**maps).maps(), _wide(maps).maps(), rtol=0, atol=1e-14)
    assert sorted(vl.Projections(**maps).parts()) == sorted(maps)


def test_a_gaussian_is_carried_as_under_the_wide_values(generator):
    maps, law = _maps(generator), vl.Gaussian(torch.zeros(D), 0.1 * torch.eye(D))
    narrow, wide = (
        vl.TransformerPDE("softmax", one).gaussian_field(law)
        for one in (vl.Projections(**maps), _wide(maps))
    )
    assert_close(narrow(0.0, narrow.initial(0.0)), wide(0.0, wide.initial(0.0)))
    with pytest.raises(Unsupported, match="output bias"):
        vl.TransformerPDE("linear", vl.Projections(**maps)).gaussian_field(law)


def test_layers_and_heads_side_by_side_take_output_maps(generator):
    layers = tuple(vl.Projections(**_maps(generator)) for _ in range(2))
    cloud = _cloud(generator)
    path = vl.LayeredProjections(layers, duration=0.5)
    for t, layer in ((0.2, 0), (0.7, 1)):
        assert_close(
            vl.velocity(vl.TransformerPDE("softmax", path), cloud, t=t),
            vl.velocity(vl.TransformerPDE("softmax", layers[layer]), cloud),
        )
    between = vl.LayeredProjections(layers, interpolation="linear").at(1.0).parts()
    for name, one in between.items():
        assert_close(one, (layers[0].parts()[name] + layers[1].parts()[name]) / 2)
    both = vl.velocity(vl.TransformerPDE("softmax", vl.Projections.stack(layers)), cloud)
    apart = [vl.velocity(vl.TransformerPDE("softmax", layer), cloud) for layer in layers]
    assert_close(both, apart[0] + apart[1])


def test_clouds_at_their_own_times_take_output_maps(generator):
    layers = tuple(vl.Projections(**_maps(generator)) for _ in range(2))
    path = vl.LayeredProjections(layers)
    x = _draw(generator, 2, 7, D)
    at = path.at(torch.tensor([0.5, 1.5], dtype=torch.float64))
    q, k, v = at.project(x)
    seen = at.gather((q @ k.mT).softmax(-1) @ v)
    for i, layer in enumerate(layers):
        q, k, v = layer.project(x[i])
        assert_close(seen[i], layer.gather((q @ k.mT).softmax(-1) @ v))


def test_refined_queries_are_no_affine_maps(generator):
    def turned(q, k):
        return q.flip(-1), k

    maps, cloud = _maps(generator), _cloud(generator)
    refined = vl.Projections(**maps, refine=turned)
    flipped = vl.Projections(**(maps | {"query": maps["query"].flip(-2)}))
    assert_close(
        vl.velocity(vl.TransformerPDE("softmax", refined.to(dtype=torch.float64)), cloud),
        vl.velocity(vl.TransformerPDE("softmax", flipped), cloud),
    )
    with pytest.raises(Unsupported, match="simulate tokens"):
        refined.maps()
    layers = (refined, vl.Projections(**maps))
    with pytest.raises(Unsupported, match="interpolation='constant'"):
        vl.LayeredProjections(layers, interpolation="linear").at(1.0)


def test_an_output_map_of_another_width_is_refused(generator):
    maps = _maps(generator)
    with pytest.raises(ShapeMismatch, match=r"needs a value of shape \(2, 5\)"):
        vl.Projections(**(maps | {"value": _draw(generator, H, M + 1, D)}))
    with pytest.raises(ShapeMismatch, match=r"output_bias of shape \(5,\)"):
        vl.Projections(**(maps | {"output_bias": _draw(generator, M)}))
