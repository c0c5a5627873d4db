"""Noise: variances, strong order, and what is refused."""

import math

import pytest
import torch
from zoo import Frames, observed_order, scalar

from vlasov.errors import InvalidValue, Unsupported
from vlasov.integration import (
    AdaptiveStep,
    AdditiveNoise,
    Euler,
    FixedStep,
    Heun,
    Plan,
    Problem,
    build_method,
    integrate,
)

PATHS = 40_000
# standard error of a variance from n Gaussian samples, relative: sqrt(2 / n); four of them
FOUR_SIGMA = 4 * math.sqrt(2 / PATHS)


def seeded() -> torch.Generator:
    return torch.Generator().manual_seed(7)


def variance(drift, *, until: float, dt: float, diffusion: float, method) -> float:
    x = torch.zeros(PATHS, 1, dtype=torch.float64)
    problem = Problem(drift, x, until, noise=AdditiveNoise(diffusion))
    outcome = integrate(problem, Plan(method, FixedStep(dt)), generator=seeded())
    return float(outcome.state.x.square().mean())


@pytest.mark.parametrize("method", [Euler(), Heun()], ids=lambda m: m.name)
@pytest.mark.parametrize("dt", [0.1, 0.01, 0.03])
def test_b09_pure_diffusion_has_variance_one_for_every_step(method, dt):
    found = variance(lambda t, x: 0 * x, until=1.0, dt=dt, diffusion=0.5, method=method)
    assert found == pytest.approx(1.0, rel=FOUR_SIGMA)


@pytest.mark.parametrize(("dt", "value"), [(0.1, 1.05263), (0.02, 1 / 0.99)])
def test_b09_stationary_variance_of_euler_maruyama(dt, value):
    found = variance(lambda t, x: -x, until=6.0, dt=dt, diffusion=1.0, method=Euler())
    assert found == pytest.approx(value, rel=FOUR_SIGMA)


class Multiplicative:
    """dx = x o dW: the Stratonovich solution is exp(W)."""

    def __init__(self, increments: list) -> None:
        self.increments = list(increments)

    def draw(self, x, h, generator):
        return self.increments.pop(0)

    def project(self, x, xi):
        return x * xi


def coarse(fine: torch.Tensor, factor: int) -> list[torch.Tensor]:
    return [block.sum(0) for block in fine.split(factor)]


def strong_errors(method, exact) -> list[float]:
    fine = math.sqrt(1 / 256) * torch.randn(256, 2000, 1, dtype=torch.float64, generator=seeded())
    x = torch.ones(2000, 1, dtype=torch.float64)
    errors = []
    for factor in (2, 4, 8, 16, 32):
        noise = Multiplicative(coarse(fine, factor))
        problem = Problem(lambda t, x: 0 * x, x, 1.0, noise=noise)
        outcome = integrate(problem, Plan(method, FixedStep(factor / 256)), generator=seeded())
        errors.append(float((outcome.state.x - exact(fine.sum(0))).square().mean().sqrt()))
    return errors


SIZES = [factor / 256 for factor in (2, 4, 8, 16, 32)]


def test_strong_order_of_heun_is_one_and_it_is_stratonovich():
    errors = strong_errors(Heun(), torch.exp)
    assert observed_order(SIZES, errors) == pytest.approx(1.0, abs=0.15)


def test_strong_order_of_euler_maruyama_is_a_half_and_it_is_ito():
    errors = strong_errors(Euler(), lambda w: torch.exp(w - 0.5))
    assert observed_order(SIZES, errors) == pytest.approx(0.5, abs=0.15)


def test_strong_order_for_additive_noise_is_one():
    # x' = -x + dW: against the same path on a fine grid
    fine = math.sqrt(1 / 1024) * torch.randn(1024, 500, 1, dtype=torch.float64, generator=seeded())

    class Given(Multiplicative):
        def project(self, x, xi):
            return xi

    def end(factor: int) -> torch.Tensor:
        problem = Problem(
            lambda t, x: -x,
            torch.ones(500, 1, dtype=torch.float64),
            1.0,
            noise=Given(coarse(fine, factor)),
        )
        plan = Plan(Euler(), FixedStep(factor / 1024))
        return integrate(problem, plan, generator=seeded()).state.x

    reference = end(1)
    factors = (16, 32, 64, 128, 256)
    errors = [float((end(f) - reference).square().mean().sqrt()) for f in factors]
    assert observed_order([f / 1024 for f in factors], errors) == pytest.approx(1.0, abs=0.15)


def test_noise_stays_on_the_manifold():
    class Sphere(AdditiveNoise):
        def project(self, x, xi):
            return xi - (x * xi).sum(-1, keepdim=True) * x

    x = torch.tensor([[1.0, 0.0, 0.0]], dtype=torch.float64).repeat(50, 1)
    problem = Problem(
        lambda t, x: 0 * x,
        x,
        1.0,
        retract=lambda x: x / x.norm(dim=-1, keepdim=True),
        noise=Sphere(0.5),
    )
    outcome = integrate(problem, Plan(Heun(), FixedStep(0.1)), generator=seeded())
    torch.testing.assert_close(outcome.state.x.norm(dim=-1), torch.ones(50, dtype=torch.float64))


def test_the_seed_decides_the_path():
    def run(seed: int) -> torch.Tensor:
        problem = scalar(lambda t, x: -x, 1.0, 1.0, noise=AdditiveNoise(0.5))
        generator = torch.Generator().manual_seed(seed)
        return integrate(problem, Plan(Heun(), FixedStep(0.1)), generator=generator).state.x

    assert torch.equal(run(1), run(1))
    assert not torch.equal(run(1), run(2))


def test_a_stopped_member_does_not_change_the_noise_of_the_others():
    def run(first: float) -> Frames:
        x = torch.tensor([first, 0.0], dtype=torch.float64).reshape(2, 1, 1)
        frames = Frames()
        problem = Problem(lambda t, x: x**3, x, 1.0, noise=AdditiveNoise(0.01))
        integrate(problem, Plan(Euler(), FixedStep(0.1)), observer=frames, generator=seeded())
        return frames

    calm, wild = run(0.0), run(50.0)
    assert torch.equal(calm.saved[-1].x[1], wild.saved[-1].x[1])


@pytest.mark.parametrize("name", ["rk4", "tsit5", "lie", "doubled", "stiff"])
def test_other_methods_refuse_noise(name):
    problem = scalar(lambda t, x: -x, 1.0, 1.0, noise=AdditiveNoise(0.5))
    with pytest.raises(Unsupported, match=r"Use 'euler' \(Euler-Maruyama\)"):
        integrate(problem, Plan(build_method(name), FixedStep(0.1)), generator=seeded())


def test_adaptive_steps_refuse_noise():
    problem = scalar(lambda t, x: -x, 1.0, 1.0, noise=AdditiveNoise(0.5))
    with pytest.raises(Unsupported, match="Noise needs fixed steps"):
        integrate(problem, Plan(Heun(), AdaptiveStep()), generator=seeded())


def test_noise_needs_a_generator():
    problem = scalar(lambda t, x: -x, 1.0, 1.0, noise=AdditiveNoise(0.5))
    with pytest.raises(InvalidValue, match="needs a random generator"):
        integrate(problem, Plan(Heun(), FixedStep(0.1)))


def test_noise_does_not_run_backwards():
    with pytest.raises(Unsupported, match="cannot be run backwards"):
        scalar(lambda t, x: -x, 1.0, -1.0, noise=AdditiveNoise(0.5))


@pytest.mark.parametrize("diffusion", [-1.0, math.nan, math.inf])
def test_diffusion_must_be_finite_and_not_negative(diffusion):
    with pytest.raises(InvalidValue, match="finite and >= 0"):
        AdditiveNoise(diffusion)
