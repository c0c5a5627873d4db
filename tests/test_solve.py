"""`simulate`: joins equation and integrator; everything else is tested where it lives."""

import math

import pytest
import torch

import vlasov as vl
from vlasov.errors import InvalidValue, NotOnGeometry, UnknownName
from vlasov.observables import MaxNorm

pytestmark = pytest.mark.usefixtures("unchecked_types")


def plain(**parts) -> vl.TransformerPDE:
    return vl.TransformerPDE(**parts)


@pytest.fixture
def cloud() -> vl.Cloud:
    return vl.Cloud.gaussian(n=8, d=2, seed=0)


def test_one_layer_is_one_euler_step(cloud):
    pde = plain(attention="l2", beta=0.7)
    run = vl.simulate(pde, cloud, until=0.1, step=0.1, integrator="euler")
    torch.testing.assert_close(run.points[-1], cloud.points + 0.1 * vl.velocity(pde, cloud))


def test_times_end_exactly_and_save_times_do_not_set_the_step(cloud):
    run = vl.simulate(plain(), cloud, until=1.0, step=0.3, integrator="euler")
    assert run.times[-1] == 1.0
    assert run.steps == 4
    saved = vl.simulate(plain(), cloud, until=1.0, step=0.1, save_at=(0.25, 1.0))
    assert saved.times.tolist() == [0.0, 0.25, 1.0]


def test_b02_last_step_is_the_shorter_one():
    # x' = x for one token with V = 1
    run = vl.simulate(plain(), vl.Cloud([[1.0]]), until=1.0, step=0.3, integrator="euler")
    assert float(run.points[-1]) == pytest.approx(1.3**3 * 1.1, rel=1e-14)


def test_b05_backwards_returns_to_the_start(cloud):
    forth = vl.simulate(plain(), cloud, until=1.0, step=0.01)
    back = vl.simulate(plain(), forth.final, start=1.0, until=0.0, step=0.01)
    torch.testing.assert_close(back.points[-1], cloud.points, rtol=1e-8, atol=1e-8)


def test_b10_gradients_flow_through_a_whole_simulation():
    # one token: x(1) = e^v x(0), so both derivatives are e at v = x = 1
    value = torch.tensor([[1.0]], dtype=torch.float64, requires_grad=True)
    one = torch.ones(1, 1, dtype=torch.float64)
    x = torch.tensor([[1.0]], dtype=torch.float64, requires_grad=True)
    pde = plain(projections=vl.Projections(query=one, key=one, value=value))
    end = vl.simulate(pde, vl.Cloud(x), until=1.0, step=0.01).points[-1]
    of_value, of_x = torch.autograd.grad(end.sum(), (value, x))
    assert float(of_value) == pytest.approx(math.e, rel=1e-8)
    assert float(of_x) == pytest.approx(math.e, rel=1e-8)


@pytest.mark.parametrize("engine", ["dense", "fused"])
def test_gradients_agree_with_finite_differences(engine, cloud):
    maps = vl.Projections.random(2, seed=1).maps()

    def end(query: torch.Tensor) -> torch.Tensor:
        projections = vl.Projections(query, maps["key"], maps["value"])
        pde = plain(projections=projections, engine=engine)
        return vl.simulate(pde, cloud, until=0.3, step=0.1).points[-1]

    query = maps["query"].clone().requires_grad_(True)
    assert torch.autograd.gradcheck(end, (query,))


def test_b12_no_graph_and_one_state_without_gradients(cloud):
    run = vl.simulate(plain(), cloud, until=1.0, step=0.01, keep="last", observe=("mean",))
    assert run.points.shape == (1, 8, 2)
    assert run.point_times.tolist() == [1.0]
    assert len(run.observables["mean"]) == len(run.times) > 50
    assert run.points.grad_fn is None


def test_observables_by_name_object_and_function(cloud):
    named = vl.simulate(plain(), cloud, until=0.2, step=0.1, observe=("max_norm", MaxNorm()))
    assert set(named.observables) == {"max_norm"}
    own = vl.simulate(
        plain(), cloud, until=0.2, step=0.1, observe={"first": lambda c: c.points[0, 0]}
    )
    torch.testing.assert_close(own.observables["first"], own.points[:, 0, 0])


def test_energy_falls_along_a_gradient_flow(cloud):
    run = vl.simulate(plain(), cloud, until=0.5, step=0.01, observe=("energy", "dissipation"))
    slope = torch.gradient(run.observables["energy"], spacing=(run.times,))[0][2:-2]
    torch.testing.assert_close(slope, -run.observables["dissipation"][2:-2], rtol=2e-2, atol=0)
    assert (run.observables["energy"].diff() < 0).all()


def test_batch_members_equal_single_runs_under_adaptive_control():
    clouds = vl.Cloud(torch.stack([vl.Cloud.gaussian(n=5, d=2, seed=s).points for s in (1, 2)]))
    pde = plain(beta=0.5)
    together = vl.simulate(pde, clouds, until=1.0, step="adaptive", rtol=1e-8)
    for i in range(2):
        alone = vl.simulate(pde, clouds.member(i), until=1.0, step="adaptive", rtol=1e-8)
        torch.testing.assert_close(
            together.points[-1, i], alone.points[-1], rtol=1e-12, atol=1e-12
        )


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_is_integrated_in_float32(dtype):
    x = vl.Cloud.gaussian(n=6, d=2, seed=3).points.to(dtype)
    run = vl.simulate(plain(), vl.Cloud(x), until=1.0, step=0.01)
    wide = vl.simulate(plain(), vl.Cloud(x.float()), until=1.0, step=0.01)
    assert run.points.dtype == dtype
    assert torch.equal(run.points[-1], wide.points[-1].to(dtype))


def test_parameters_given_per_layer_keep_the_order_up_to_the_last_edge(cloud):
    layers = tuple(vl.Projections.random(2, seed=s, scale=0.5) for s in range(3))
    pde = plain(projections=vl.LayeredProjections(layers))
    for span in ((0.0, 2.0), (2.0, 0.0)):
        ends = [
            vl.simulate(pde, cloud, start=span[0], until=span[1], step=h, keep="last").points[-1]
            for h in (0.2, 0.1, 0.05, 0.0125)
        ]
        errors = [float((end - ends[-1]).abs().max()) for end in ends[:-1]]
        assert math.log2(errors[0] / errors[1]) > 3.5
        assert math.log2(errors[1] / errors[2]) > 3.5


def test_error_estimates(cloud):
    embedded = vl.simulate(plain(), cloud, until=1.0, step=0.1, integrator="bosh3")
    exact = vl.simulate(plain(), cloud, until=1.0, step=0.01, integrator="dopri5").points[-1]
    doubled = vl.simulate(plain(), cloud, until=1.0, step=0.1, error="doubling")
    bare = vl.simulate(plain(), cloud, until=1.0, step=0.1)
    assert torch.equal(doubled.points, bare.points)  # the estimate does not change the run
    for run in (embedded, doubled):
        assert run.error is not None
        actual = float((run.points[-1] - exact).abs().max())
        assert actual / 30 < float(run.error[-1]) < 100 * actual
    assert bare.error is None


@pytest.mark.parametrize(
    ("choices", "error", "phrase"),
    [
        ({"step": -0.1}, InvalidValue, "step size"),
        ({"step": "adaptiv"}, InvalidValue, "'adaptive'"),
        ({"step": 0.1, "keep": "some"}, InvalidValue, "keep is 'all' or 'last'"),
        ({"step": 0.1, "error": "none"}, InvalidValue, "'embedded' or 'doubling'"),
        ({"step": 0.1, "integrator": "rk5"}, UnknownName, "did you mean 'rk4'"),
        ({"step": 0.1, "observe": ("diametre",)}, UnknownName, "did you mean 'diameter'"),
        ({"step": 0.1, "stop": ("colapse",)}, UnknownName, "did you mean 'collapse'"),
        ({"step": 0.1, "until": float("nan")}, InvalidValue, "finite times"),
        ({"step": 0.1, "save_at": (2.0,)}, InvalidValue, "[Ss]ave times"),
    ],
)
def test_refusals(choices, error, phrase, cloud):
    with pytest.raises(error, match=phrase):
        vl.simulate(plain(), cloud, **({"until": 1.0} | choices))


def test_tokens_off_the_sphere_are_refused(cloud):
    with pytest.raises(NotOnGeometry):
        vl.simulate(plain(geometry="sphere"), cloud, until=1.0)


@pytest.mark.parametrize(
    ("parts", "step", "integrator"),
    [({}, 0.1, "rk4"), ({}, "adaptive", "tsit5"), ({"noise": "common"}, 0.1, "heun")],
)
def test_the_integrator_where_none_is_named(parts, step, integrator, cloud):
    run = vl.simulate(plain(**parts), cloud, until=0.1, step=step)
    assert run.facts["integrator"] == integrator


def test_one_observable_or_stop_may_stand_alone(cloud):
    run = vl.simulate(plain(), cloud, until=0.2, step=0.1, observe="energy", stop="merge")
    assert set(run.observables) == {"energy"}


@pytest.mark.parametrize(
    ("choices", "phrase"),
    [
        ({"observe": "enrgy"}, "did you mean 'energy'"),
        ({"save_every": 2.5}, "save_every must be a whole number"),
        ({"max_steps": 2.5}, "max_steps must be a whole number"),
        ({"max_steps": 0}, "max_steps must be a whole number"),
        ({"wall_time": -1.0}, "wall-time limit in seconds must be a finite number above 0"),
    ],
)
def test_counts_and_names_are_refused_in_words(choices, phrase, cloud):
    with pytest.raises(vl.VlasovError, match=phrase):
        vl.simulate(plain(), cloud, until=0.2, step=0.1, **choices)


def test_a_certified_engine_reports_its_bound():
    cloud = vl.Cloud.gaussian(3_000, d=2, seed=0)
    run = vl.simulate(vl.TransformerPDE(engine="tree:tolerance=1e-6"), cloud, until=0.1, step=0.1)
    assert run.engine_report.sums == run.evaluations
    assert 0 < run.engine_report.bound < 1e-4
    exact = vl.simulate(vl.TransformerPDE(engine="direct"), cloud, until=0.1, step=0.1)
    assert exact.engine_report is None


def test_random_batches_are_stepped_by_euler_and_refuse_adaptive_steps():
    cloud, pde = vl.Cloud.gaussian(12, d=2, seed=0), vl.TransformerPDE(engine="rbm:p=3")
    run = vl.simulate(pde, cloud, until=0.2, step=0.1)
    assert run.facts["integrator"] == "euler"
    assert run.evaluations == run.steps == 2
    with pytest.raises(vl.VlasovError, match=r"Engine 'rbm' draws anew .* got adaptive steps"):
        vl.simulate(pde, cloud, until=0.2, step="adaptive")
