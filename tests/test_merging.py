"""Coinciding tokens merged: the same measure, the same flow, fewer particles."""

import pytest
import torch
from flows import circle

import vlasov as vl
from vlasov.errors import InvalidValue, Unsupported

pytestmark = pytest.mark.usefixtures("unchecked_types")


CLUSTERS = [0.0, 0.01, 0.02, 1.3, 1.31, 2.9, 2.92, 4.4]
PDE = vl.TransformerPDE(beta=9.0, geometry="sphere")


@pytest.mark.slow
def test_merged_and_full_runs_agree():
    choices = {"until": 40.0, "step": 0.05, "save_at": tuple(float(t) for t in range(0, 41, 4))}
    full = vl.simulate(PDE, circle(CLUSTERS), **choices)
    merged = vl.simulate(PDE, circle(CLUSTERS), merge=1e-8, **choices)
    assert merged.points.shape == full.points.shape
    assert merged.times.tolist() == full.times.tolist()
    torch.testing.assert_close(merged.points, full.points, rtol=0, atol=1e-6)
    assert len(torch.unique(merged.points[-1], dim=0)) < 8


def test_coinciding_tokens_are_one_particle_from_the_first_frame_on():
    twice = circle([0.0, 0.0, 2.0])
    run = vl.simulate(PDE, twice, until=1.0, step=0.1, merge=1e-9)
    weighted = vl.Cloud(twice.points[1:], weights=[2 / 3, 1 / 3])
    exact = vl.simulate(PDE, weighted, until=1.0, step=0.1).points[-1]
    torch.testing.assert_close(run.points[-1, 1:], exact, rtol=1e-12, atol=1e-12)


def test_positions_keep_tokens_apart():
    tokens = vl.Cloud([[1.0], [1.0], [3.0]], positions=[0.0, 1.0, 2.0])
    pde = vl.TransformerPDE(mask="causal")
    full = vl.simulate(pde, tokens, until=1.0, step=0.1)
    merged = vl.simulate(pde, tokens, until=1.0, step=0.1, merge=1e-6)
    torch.testing.assert_close(merged.points[-1], full.points[-1], rtol=1e-12, atol=1e-12)


def test_counts_and_resume_go_through_all_legs():
    states = []

    class Watching:
        def frame(self, time, points, observables, error): ...

        def checkpoint(self, state):
            states.append(dict(state))

        def step(self, time):
            return True

    choices = {
        "until": 10.0,
        "step": 0.05,
        "merge": 1e-3,
        "save_at": tuple(float(t) for t in range(11)),
    }
    whole = vl.simulate(PDE, circle(CLUSTERS), monitor=Watching(), **choices)
    assert whole.steps == 200
    rest = vl.simulate(PDE, circle(CLUSTERS), resume=states[4], **choices)
    assert torch.equal(rest.points, whole.points[5:])
    assert rest.steps == 200


@pytest.mark.parametrize(
    ("cloud", "pde", "merge", "error", "phrase"),
    [
        (circle(CLUSTERS), PDE, 0.0, InvalidValue, "merge distance must be positive"),
        (circle([CLUSTERS, CLUSTERS]), PDE, 1e-6, Unsupported, "a batch of clouds"),
        (circle(CLUSTERS), PDE.replace(noise="common"), 1e-6, Unsupported, "noise"),
        (circle(CLUSTERS), PDE.replace(terms="momentum"), 1e-6, Unsupported, "momentum"),
        (circle(CLUSTERS), PDE.replace(mask="causal"), 1e-6, Unsupported, "without positions"),
    ],
)
def test_refusals(cloud, pde, merge, error, phrase):
    with pytest.raises(error, match=phrase):
        vl.simulate(pde, cloud, until=1.0, step=0.1, integrator="euler", merge=merge)


def test_a_run_needs_time():
    with pytest.raises(InvalidValue, match="needs time to pass"):
        vl.simulate(PDE, circle(CLUSTERS), until=0.0, merge=1e-6)
