"""How runs end before their time, and how they go on: blow-ups, limits, interruption, resume."""

import math

import pytest
import torch

import vlasov as vl

pytestmark = pytest.mark.usefixtures("unchecked_types")


@pytest.fixture
def cloud() -> vl.Cloud:
    return vl.Cloud.gaussian(n=8, d=2, seed=0)


def test_b06_one_blow_up_leaves_the_rest_of_a_batch_alone():
    # linear attention, one token of size x: blow-up at 1/(2 x^2)
    clouds = vl.Cloud([[[1.0]], [[0.5]]])
    run = vl.simulate(
        vl.TransformerPDE(attention="linear"), clouds, until=1.0, step="adaptive", rtol=1e-9
    )
    assert run.member_status == ("blow-up", "finished")
    assert run.member_stopped_at[0] == pytest.approx(0.5, rel=1e-6)
    assert float(run.points[-1, 1, 0, 0]) == pytest.approx(0.5 / math.sqrt(1 - 0.5), rel=1e-6)
    assert run.points[-1, 0].isnan().all()  # never a plausible number


def test_b03_blow_up_is_located_and_cut():
    run = vl.simulate(
        vl.TransformerPDE(attention="linear"), vl.Cloud([[1.0]]), until=1.0, step=1e-3
    )
    assert run.status == "blow-up"
    assert abs(run.stopped_at - 0.5) <= 2e-3
    assert run.points.isfinite().all()


def test_b11_blow_up_before_the_first_requested_frame():
    run = vl.simulate(
        vl.TransformerPDE(attention="linear"),
        vl.Cloud([[1.0]]),
        until=1.0,
        step=1e-3,
        save_at=(1.0,),
    )
    assert run.status == "blow-up"
    assert len(run.times) == len(run.points)
    assert run.points.isfinite().all()


def test_limits_have_their_own_status(cloud):
    run = vl.simulate(vl.TransformerPDE(), cloud, until=1.0, step=0.1, max_steps=3)
    assert (run.status, run.steps) == ("max-steps", 3)
    run = vl.simulate(vl.TransformerPDE(), cloud, until=1e6, step=0.1, wall_time=0.2)
    assert run.status in {"wall-time", "overflow"}


def test_resume_is_bit_for_bit(cloud):
    states: list[dict] = []

    class Watching:
        def frame(self, time, points, observables, error): ...

        def checkpoint(self, state):
            states.append(dict(state))

        def step(self, time):
            return True

    pde = vl.TransformerPDE(attention="l2", noise="independent:diffusion=0.1")
    choices = {"until": 1.0, "step": 0.05, "integrator": "heun", "seed": 3}
    whole = vl.simulate(pde, cloud, monitor=Watching(), **choices)
    rest = vl.simulate(pde, cloud, resume=states[7], **choices)
    assert torch.equal(rest.points, whole.points[8:])


def test_an_interrupted_run_says_so(cloud):
    class Impatient:
        def frame(self, time, points, observables, error): ...

        def checkpoint(self, state): ...

        def step(self, time):
            return time < 0.35

    run = vl.simulate(vl.TransformerPDE(), cloud, until=1.0, step=0.1, monitor=Impatient())
    assert run.status == "interrupted"
    assert run.stopped_at == pytest.approx(0.4)
