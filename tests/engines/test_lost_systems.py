"""Engines refuse NaN; a run that meets it ends as it did, and its neighbours go on."""

import math

import pytest
import torch

import vlasov as vl


@pytest.mark.parametrize("engine", ["auto", "dense", "tree"])
@pytest.mark.parametrize("number", [math.nan, math.inf, 1e305])
def test_a_lost_system_has_no_velocity_and_no_neighbours(engine, number):
    cloud = vl.Cloud(vl.Cloud.gaussian(n=7, d=2, seed=0).points.expand(3, 7, 2).clone())
    field = vl.TransformerPDE(engine=engine).particle_field(cloud)
    x = cloud.points.clone()
    x[1, 4, 0] = number
    wanted, found = field(0.0, cloud.points), field(0.0, x)
    assert found[1].isnan().all()
    assert torch.equal(found[::2], wanted[::2])


@pytest.mark.usefixtures("unchecked_types")
@pytest.mark.parametrize(("mask", "step"), [(None, "adaptive"), (None, 0.5), ("causal", 0.5)])
def test_unnormalised_attention_ends_by_a_blow_up(mask, step):
    pde = vl.TransformerPDE("unnormalised", mask=mask)
    run = vl.simulate(pde, vl.Cloud.gaussian(n=8, d=2, seed=0), until=50.0, step=step)
    assert run.status == "blow-up"
