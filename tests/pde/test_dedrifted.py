"""The moving frame against the fixed one, and far beyond where the fixed one overflows."""

import pytest
import torch

import vlasov as vl
from vlasov.errors import Unsupported

pytestmark = pytest.mark.usefixtures("unchecked_types")


@pytest.mark.parametrize("heads", [1, 2])
@pytest.mark.parametrize("attention", ["softmax", "l2"])
def test_both_frames_agree(attention, heads):
    maps = vl.Projections.random(2, heads=heads, seed=1, scale=0.7)
    pde = vl.TransformerPDE(attention, maps, beta=0.8, terms="decay:rate=0.3")
    cloud = vl.Cloud.gaussian(n=12, d=2, seed=2)
    moving = vl.dedrifted(pde, 2)
    choices = {"until": 1.5, "step": 0.005}
    fixed = vl.simulate(pde, cloud, **choices).points[-1]
    z = vl.simulate(moving.pde, cloud, **choices).points[-1]
    torch.testing.assert_close(moving.restore(1.5, z), fixed, rtol=1e-8, atol=1e-9)


@pytest.mark.slow
def test_very_long_runs_stay_finite():
    cloud = vl.Cloud.gaussian(n=10, d=2, seed=3)
    moving = vl.dedrifted(vl.TransformerPDE(), 2)
    run = vl.simulate(moving.pde, cloud, until=2000.0, step="adaptive")
    assert run.status == "finished"
    assert run.points.isfinite().all()
    assert run.points.abs().max() <= cloud.points.abs().max() + 1e-9


def test_the_fixed_frame_ends_with_a_named_overflow():
    run = vl.simulate(
        vl.TransformerPDE(), vl.Cloud.gaussian(n=10, d=2, seed=3), until=2000.0, step=0.5
    )
    assert run.status == "overflow"
    assert run.points.isfinite().all()


@pytest.mark.parametrize(
    ("parts", "phrase"),
    [
        ({"geometry": "sphere"}, "geometry 'sphere'"),
        ({"noise": "independent"}, "noise"),
        ({"terms": "mlp"}, "term other than decay"),
        ({"attention": "sigmoid"}, "variant 'sigmoid'"),
        ({"projections": vl.RedrawnProjections(2)}, "change along depth"),
        (
            {"projections": vl.Projections(*[torch.eye(2)] * 3, value_bias=torch.ones(2))},
            "biases",
        ),
        (
            {"projections": vl.Projections(torch.eye(2), torch.eye(2), lambda t: torch.eye(2))},
            "change along depth",
        ),
    ],
)
def test_refusals(parts, phrase):
    with pytest.raises(Unsupported, match=phrase):
        vl.dedrifted(vl.TransformerPDE(**parts), 2)
