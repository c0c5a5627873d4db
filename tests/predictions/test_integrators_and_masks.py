"""Predictions V11, V12, V20, V31: orders of integrators, splitting, staircase, causal spectrum."""

import math

import numpy as np
import pytest
import torch
from flows import circle, slope, sphere_pde

import vlasov as vl

HALVINGS = (0.1, 0.05, 0.025, 0.0125)


def final(pde, cloud, **choices) -> torch.Tensor:
    return vl.simulate(pde, cloud, keep="last", **choices).points[-1]


def observed_order(errors: list[float]) -> float:
    return -slope(np.arange(len(errors)), np.log2(errors))


@pytest.mark.slow
@pytest.mark.parametrize(("integrator", "order"), [("euler", 1), ("heun", 2), ("rk4", 4)])
def test_v11_order_on_the_sphere(integrator, order):
    cloud = vl.Cloud.sphere(n=16, d=3, seed=1)
    pde = sphere_pde("softmax", 2.0)
    exact = final(pde, cloud, until=1.0, step=1e-3)
    errors = [
        float((final(pde, cloud, until=1.0, step=h, integrator=integrator) - exact).abs().max())
        for h in HALVINGS
    ]
    assert observed_order(errors) == pytest.approx(order, abs=0.1 if order < 3 else 0.15)
    if integrator == "euler":
        assert errors[0] < 3e-2


@pytest.mark.parametrize(("integrator", "order"), [("lie", 1), ("strang", 2)])
def test_v12_splitting_of_attention_and_mlp(integrator, order):
    cloud = vl.Cloud.gaussian(n=16, d=3, seed=2)
    pde = vl.TransformerPDE(terms="mlp:hidden=8,activation=tanh")
    exact = final(pde, cloud, until=1.0, step=2e-3)
    errors = [
        float(
            (final(pde, cloud, until=1.0, step=h, integrator=f"{integrator}:inner=rk4") - exact)
            .abs()
            .max()
        )
        for h in (0.2, 0.1, 0.05, 0.025)
    ]
    assert observed_order(errors) == pytest.approx(order, abs=0.1)


@pytest.mark.slow
def test_v20_energy_staircase_by_the_stiff_method():
    cloud = circle(torch.tensor([0.0, 1.3, 2.9, 4.4], dtype=torch.float64))
    pde = sphere_pde("softmax", 9.0)
    times = np.concatenate([np.arange(0, 300, 2.0), np.geomspace(300, 1e7, 40)])
    run = vl.simulate(
        pde,
        cloud,
        until=1e7,
        step="adaptive",
        integrator="stiff",
        rtol=1e-9,
        atol=1e-12,
        save_at=times.tolist(),
        observe=("energy",),
    )
    assert run.status == "finished"
    assert run.evaluations <= 10_000
    top = -math.exp(9.0) / 2
    level = run.observables["energy"].numpy() / top
    t = run.times.numpy()

    def first(value: float) -> float:
        k = int(np.argmax(level > value))
        return float(np.interp(value, level[k - 1 : k + 1], t[k - 1 : k + 1]))

    assert level[int(np.searchsorted(t, 20.0))] == pytest.approx(0.25, abs=1e-3)
    assert first(0.32) == pytest.approx(50.4, rel=0.02)
    assert level[int(np.searchsorted(t, 150.0))] == pytest.approx(0.375, abs=1e-3)
    assert first(0.45) == pytest.approx(258, rel=0.02)
    assert level[-1] == pytest.approx(0.5, abs=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("beta", [0.0, 1.0])
def test_v31_causal_spectrum(beta):
    cloud = vl.Cloud.sphere(n=8, d=3, seed=9)
    first = cloud.points[0]
    run = vl.simulate(
        sphere_pde("softmax", beta, mask="causal"),
        cloud,
        until=46.0,
        step=0.04,
        save_at=np.linspace(40, 46, 13).tolist(),
    )
    x = run.points[-13:]
    angle = 2 * torch.atan2((x - first).norm(dim=-1), (x + first).norm(dim=-1))
    assert angle[:, 0].max() < 1e-12
    rate = slope(run.times[-13:].numpy(), angle[:, 1].log().numpy())
    assert rate == pytest.approx(-0.5, abs=1e-3)
    ratios = angle[-1, 2:] / angle[-1, 1]
    torch.testing.assert_close(ratios, torch.arange(2, 8, dtype=torch.float64), rtol=0.02, atol=0)
