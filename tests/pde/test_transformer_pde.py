"""The description: every part by object or by name, refused by name where it does not fit."""

import numpy as np
import pytest
import torch

import vlasov as vl
from vlasov.attention import Softmax
from vlasov.engines import Dense
from vlasov.errors import InvalidValue, ShapeMismatch, UnknownName, Unsupported
from vlasov.geometry import Sphere
from vlasov.pde import Decay, Momentum


def test_parts_by_name_and_by_object_are_the_same_equation():
    cloud = vl.Cloud.sphere(n=7, d=3, seed=0)
    named = vl.TransformerPDE(
        "softmax", beta=2.0, geometry="sphere", engine="dense", terms="decay:rate=2"
    )
    given = vl.TransformerPDE(
        Softmax(), beta=2.0, geometry=Sphere(), engine=Dense(), terms=[Decay(rate=2.0)]
    )
    assert torch.equal(vl.velocity(named, cloud), vl.velocity(given, cloud))


@pytest.mark.parametrize(
    ("part", "value", "near"),
    [
        ("attention", "sotfmax", "softmax"),
        ("geometry", "shpere", "sphere"),
        ("engine", "tilde", "tiled"),
        ("mask", "casual", "causal"),
        ("terms", "decey", "decay"),
        ("noise", "comon", "common"),
    ],
)
def test_unknown_names_are_answered_with_the_nearest(part, value, near):
    with pytest.raises(UnknownName, match=f"did you mean '{near}'"):
        vl.TransformerPDE(**{part: value})


def test_beta_must_be_finite():
    with pytest.raises(InvalidValue, match="beta must be a finite number"):
        vl.TransformerPDE(beta=float("nan"))


def test_projections_must_fit_the_cloud():
    pde = vl.TransformerPDE(projections=vl.Projections.identity(3))
    with pytest.raises(ShapeMismatch, match="width 3 but the cloud has width 2"):
        vl.velocity(pde, vl.Cloud.gaussian(n=4, d=2))


def test_two_momentum_terms_are_refused():
    with pytest.raises(Unsupported, match="one momentum term"):
        vl.TransformerPDE(terms=[Momentum(), Momentum(damping=2.0)])


def test_replace_changes_one_part():
    pde = vl.TransformerPDE("l2", beta=2.0, mask="causal")
    other = pde.replace(beta=3.0)
    assert (other.beta, other.attention, other.mask) == (3.0, pde.attention, pde.mask)


def test_batched_clouds_equal_single_ones():
    clouds = vl.Cloud(torch.stack([vl.Cloud.gaussian(n=6, d=2, seed=s).points for s in range(3)]))
    pde = vl.TransformerPDE("sinkhorn", terms="mlp:hidden=4")
    together = vl.velocity(pde, clouds)
    for s in range(3):
        alone = vl.velocity(pde, clouds.member(s))
        torch.testing.assert_close(together[s], alone, rtol=1e-12, atol=1e-13)


def test_boolean_matrix_masks_say_who_sees_whom():
    cloud = vl.Cloud([[1.0], [2.0], [3.0]])
    sees = torch.tensor([[True, False, False], [True, True, False], [True, True, True]])
    causal = vl.velocity(vl.TransformerPDE(mask="causal"), cloud)
    explicit = vl.velocity(vl.TransformerPDE(mask=sees), cloud)
    torch.testing.assert_close(explicit, causal)
    torch.testing.assert_close(
        causal.flatten(), torch.tensor([1.0, 1.880797, 2.947975]).double(), atol=5e-7, rtol=0
    )


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_a04_half_precision_is_computed_in_float32(dtype):
    cloud = vl.Cloud(torch.tensor([[300.0], [0.0]], dtype=dtype))
    seen = vl.velocity(vl.TransformerPDE(), cloud)
    assert seen.dtype == dtype
    assert seen.flatten().tolist() == [300.0, 150.0]


def test_velocity_checks_the_geometry():
    with pytest.raises(vl.VlasovError, match="sphere"):
        vl.velocity(vl.TransformerPDE(geometry="sphere"), vl.Cloud([[2.0, 0.0]]))


def test_attention_matrix_reproduces_the_velocity():
    cloud = vl.Cloud.gaussian(n=9, d=2, seed=1)
    maps = vl.Projections.random(2, heads=3, seed=2)
    pde = vl.TransformerPDE("softmax+sigmoid+sinkhorn", maps)
    weights = vl.attention_matrix(pde, cloud)
    assert weights.shape == (3, 9, 9)
    values = maps.project(cloud.points)[2]
    torch.testing.assert_close((weights @ values).sum(0), vl.velocity(pde, cloud))


@pytest.mark.usefixtures("unchecked_types")
def test_a_mask_may_be_an_array_or_lists():
    cloud = vl.Cloud([[1.0], [2.0]])
    rows = [[True, False], [True, True]]
    wanted = vl.velocity(vl.TransformerPDE(mask="causal"), cloud)
    for mask in (rows, np.array(rows)):
        assert torch.allclose(vl.velocity(vl.TransformerPDE(mask=mask), cloud), wanted)
    with pytest.raises(vl.VlasovError, match="True"):
        vl.TransformerPDE(mask=np.eye(2))


@pytest.mark.usefixtures("unchecked_types")
def test_beta_is_a_number():
    with pytest.raises(InvalidValue, match="finite number but got '2'"):
        vl.TransformerPDE(beta="2")
