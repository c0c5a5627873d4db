import dataclasses
import math

import pytest
import torch
from torch.testing import assert_close

from vlasov.errors import NotFinite, ShapeMismatch
from vlasov.projections import Projections

EPS = torch.finfo(torch.float64).eps
# sums of three products of numbers of order one, in another order
ROUNDING = {"atol": 50 * EPS, "rtol": 50 * EPS}
H, K, D, N = 2, 4, 3, 5


def drawn(*shape: int, seed: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, generator=generator, dtype=torch.float64)


def maps(*lead: int) -> dict[str, torch.Tensor]:
    shapes = {"query": (K, D), "key": (K, D), "value": (D, D)}
    shapes |= {"query_bias": (K,), "key_bias": (K,), "value_bias": (D,)}
    return {name: drawn(*lead, *s, seed=i) for i, (name, s) in enumerate(shapes.items())}


def by_loops(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """One cloud, one head at a time, one token at a time."""
    heads = zip(weight, bias, strict=True)
    return torch.stack([torch.stack([w @ token + b for token in x]) for w, b in heads])


@pytest.mark.parametrize("heads", [1, H])
@pytest.mark.parametrize("batch", [(), (2,), (2, 3)])
def test_projections_are_one_affine_map_for_each_token_and_head(heads, batch):
    given, x = maps(heads), drawn(*batch, N, D, seed=9)
    found = Projections(**given).project(x)
    for name, image in zip(("query", "key", "value"), found, strict=True):
        loops = [by_loops(one, given[name], given[f"{name}_bias"]) for one in x.reshape(-1, N, D)]
        assert_close(image, torch.stack(loops).reshape(*batch, heads, N, -1), **ROUNDING)


def test_projections_without_biases_are_linear():
    given = {name: one for name, one in maps(H).items() if "bias" not in name}
    p = Projections(**given)
    for image in p.project(torch.zeros(N, D, dtype=torch.float64)):
        assert not image.any()
    assert not p.has_biases
    assert Projections(**maps(H)).has_biases


@pytest.mark.parametrize("with_biases", [True, False])
def test_every_cloud_of_a_batch_may_have_maps_of_its_own(with_biases):
    given = maps(2, H)
    given = given if with_biases else {k: v for k, v in given.items() if "bias" not in k}
    x = drawn(2, N, D, seed=9)
    joined = Projections(**given).project(x)
    for member in range(2):
        alone = Projections(**{name: one[member] for name, one in given.items()}).project(
            x[member]
        )
        for one, part in zip(joined, alone, strict=True):
            assert_close(one[member], part, **ROUNDING)


def test_a_bias_of_each_cloud_goes_with_a_map_of_all():
    given = maps(H) | {"value_bias": drawn(2, H, D)}
    x = drawn(2, N, D, seed=9)
    _, _, v = Projections(**given).project(x)
    expected = x[:, None] @ given["value"].mT + given["value_bias"][..., None, :]
    assert_close(v, expected, **ROUNDING)


def test_maps_without_a_head_axis_serve_every_head():
    given = maps(H) | {"value": drawn(D, D), "value_bias": drawn(D)}
    p = Projections(**given)
    assert (p.heads, p.width) == (H, D)
    assert torch.equal(p.value, drawn(D, D).expand(H, D, D))
    assert p.value_bias.shape == (H, D)


def test_lists_become_double_maps():
    p = Projections([[1, 2]], [[3, 4]], [[1, 0], [0, 1]])
    assert p.query.dtype == torch.float64
    assert p.query.shape == (1, 1, 2)


def test_projections_follow_the_precision_of_the_points():
    q, k, v = Projections(**maps(H)).project(drawn(N, D).float())
    assert q.dtype == k.dtype == v.dtype == torch.float32


def test_maps_keep_their_graph():
    given = maps(H)
    given["query"].requires_grad_()
    p = Projections(**given)
    assert any(tensor.requires_grad for tensor in p.tensors())
    p.project(drawn(N, D))[0].sum().backward()
    assert given["query"].grad.shape == (H, K, D)


def test_constant_maps_move_to_another_precision():
    p = Projections(**maps(H)).to(dtype=torch.float32)
    assert {tensor.dtype for tensor in p.tensors()} == {torch.float32}


def test_one_field_can_be_replaced():
    p = Projections(**maps(H))
    other = dataclasses.replace(p, value=torch.eye(D, dtype=torch.float64))
    assert torch.equal(other.value[1], torch.eye(D, dtype=torch.float64))
    assert torch.equal(other.query, p.query)


# Constructors


@pytest.mark.parametrize("heads", [1, 3])
def test_the_identity_takes_the_tokens_as_they_are(heads):
    x = drawn(N, D)
    for image in Projections.identity(D, heads).project(x):
        assert torch.equal(image, x.expand(heads, N, D))


def test_random_maps_have_the_variance_of_their_scale():
    p = Projections.random(50, heads=4, key_width=20, seed=3, scale=2.0)
    assert p.query.shape == p.key.shape == (4, 20, 50)
    assert p.value.shape == (4, 50, 50)
    for one in (p.query, p.key, p.value):
        # Var of a mean of squares of N(0, s^2): 2 s^4 / count; five standard deviations
        assert abs(one.square().mean().item() * 50 / 4 - 1) <= 5 * math.sqrt(2 / one.numel())
    assert torch.equal(p.query, Projections.random(50, 4, key_width=20, seed=3, scale=2.0).query)
    assert not torch.equal(p.query, p.key)


def test_stacked_heads_act_side_by_side():
    first, second = Projections(**maps(1)), Projections.random(D, 2, key_width=K)
    stacked, x = Projections.stack([first, second]), drawn(N, D, seed=9)
    assert stacked.heads == 3
    parts = zip(stacked.project(x), first.project(x), second.project(x), strict=True)
    for joined, one, two in parts:
        assert_close(joined, torch.cat([one, two]), **ROUNDING)


def test_heads_that_do_not_fit_are_not_stacked():
    with pytest.raises(ShapeMismatch, match="one head at least"):
        Projections.stack([])
    with pytest.raises(ShapeMismatch, match=r"shape \(k, d\) but got \[\(2, 3\), \(3, 3\)\]"):
        Projections.stack([Projections.random(3, key_width=2), Projections.identity(3)])


# Refusals


@pytest.mark.parametrize(
    ("change", "phrase"),
    [
        ({"key": drawn(H, K + 1, D)}, r"needs a key of shape \(4, 3\) but got \(5, 3\)"),
        ({"key": drawn(H, K, D + 1)}, r"needs a key of shape \(4, 3\) but got \(4, 4\)"),
        ({"value": drawn(H, K, D)}, r"needs a value of shape \(3, 3\) but got \(4, 3\)"),
        ({"query_bias": drawn(D)}, r"needs a query_bias of shape \(4,\) but got \(3,\)"),
        ({"value_bias": drawn(K)}, r"needs a value_bias of shape \(3,\) but got \(4,\)"),
        ({"key": drawn(H + 1, K, D)}, "same number of heads but got query 2, key 3"),
        ({"key_bias": drawn(H + 1, K)}, "key_bias 3"),
        ({"value": 2.0}, r"value must have shape \(k, d\) or \(h, k, d\) but has \(\)"),
        ({"value_bias": 2.0}, r"value_bias must have shape \(k,\) or \(h, k\) but has \(\)"),
    ],
)
def test_maps_that_do_not_fit_are_refused(change, phrase):
    with pytest.raises(ShapeMismatch, match=phrase):
        Projections(**(maps(H) | change))


def test_maps_that_are_not_finite_are_refused():
    with pytest.raises(NotFinite, match=r"The value must be finite .* index \(0, 1\)"):
        Projections(torch.eye(2), torch.eye(2), [[1.0, math.nan], [0.0, 1.0]])


def test_points_of_another_width_are_refused():
    with pytest.raises(ShapeMismatch, match=r"width 3 cannot act on points of shape \(5, 2\)"):
        Projections.identity(3).project(drawn(5, 2))
