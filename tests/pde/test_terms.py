"""Local reactions: each against its formula, on both geometries, alone and with momentum."""

import math

import pytest
import torch
from flows import no_attention

import vlasov as vl
from vlasov.errors import InvalidValue, ShapeMismatch, UnknownName
from vlasov.pde import TERMS, LinearTerm, Perceptron

pytestmark = pytest.mark.usefixtures("unchecked_types")


@pytest.mark.parametrize("name", TERMS)
def test_specs_build_again(name):
    assert TERMS.spec(TERMS.build(name)) == name


def test_decay_is_exponential():
    cloud = vl.Cloud.gaussian(n=5, d=2, seed=0)
    run = vl.simulate(no_attention(terms="decay:rate=1.5"), cloud, until=1.0, step=0.01)
    torch.testing.assert_close(run.points[-1], math.exp(-1.5) * cloud.points, rtol=1e-8, atol=1e-9)


def test_matrix_term_is_the_matrix_exponential():
    matrix = torch.tensor([[0.0, 1.0], [-1.0, -0.5]], dtype=torch.float64)
    cloud = vl.Cloud.gaussian(n=5, d=2, seed=0)
    run = vl.simulate(no_attention(terms=LinearTerm(matrix)), cloud, until=1.0, step=0.01)
    exact = cloud.points @ torch.linalg.matrix_exp(matrix).mT
    torch.testing.assert_close(run.points[-1], exact, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("activation", ["tanh", "relu", "gelu", "silu"])
def test_perceptron_formula(activation):
    generator = torch.Generator().manual_seed(1)

    def draw(*shape: int) -> torch.Tensor:
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    inner, outer, inner_bias, outer_bias = draw(4, 2), draw(2, 4), draw(4), draw(2)
    term = Perceptron(inner, outer, inner_bias, outer_bias, activation=activation)
    cloud = vl.Cloud.gaussian(n=6, d=2, seed=2)
    phi = {
        "tanh": torch.tanh,
        "relu": lambda z: z.clamp_min(0),
        "gelu": lambda z: z * 0.5 * (1 + torch.erf(z / math.sqrt(2))),
        "silu": lambda z: z / (1 + torch.exp(-z)),
    }[activation]
    expected = torch.stack(
        [outer @ phi(inner @ x + inner_bias) + outer_bias for x in cloud.points]
    )
    torch.testing.assert_close(vl.velocity(no_attention(terms=term), cloud), expected)


def test_random_perceptron_is_reproducible_and_scales():
    cloud = vl.Cloud.gaussian(n=6, d=2, seed=2)

    def seen(spec: str) -> torch.Tensor:
        return vl.velocity(no_attention(terms=spec), cloud)

    assert torch.equal(seen("mlp:seed=3"), seen("mlp:seed=3"))
    assert not torch.equal(seen("mlp:seed=3"), seen("mlp:seed=4"))
    torch.testing.assert_close(seen("mlp:scale=2.0"), 2 * seen("mlp"))


def test_terms_are_tangent_on_the_sphere():
    cloud = vl.Cloud.sphere(n=8, d=3, seed=3)
    v = vl.velocity(vl.TransformerPDE(geometry="sphere", terms="mlp"), cloud)
    assert (v * cloud.points).sum(-1).abs().max() < 1e-14


@pytest.mark.parametrize(
    ("build", "error", "phrase"),
    [
        (lambda: TERMS.build("mlp:hidden=-1"), InvalidValue, "hidden width"),
        (lambda: TERMS.build("mlp:activation=tanhh"), UnknownName, "tanh"),
        (lambda: Perceptron(torch.ones(3, 2), torch.ones(3, 2)), ShapeMismatch, "transpose"),
        (
            lambda: Perceptron(torch.ones(3, 2), torch.ones(2, 3), activation="swish"),
            UnknownName,
            "Unknown activation",
        ),
        (
            lambda: Perceptron(torch.ones(3, 2), torch.ones(2, 3)).bind(torch.ones(4, 5)),
            ShapeMismatch,
            "width 2 but the cloud has width 5",
        ),
    ],
)
def test_refusals(build, error, phrase):
    with pytest.raises(error, match=phrase):
        build()


def test_momentum_is_the_damped_oscillator():
    # x'' = -x - gamma x' from rest: the closed form of the under-damped oscillator
    gamma, cloud = 0.5, vl.Cloud.gaussian(n=4, d=2, seed=4)
    pde = no_attention(terms=("decay:rate=1", f"momentum:damping={gamma}"))
    run = vl.simulate(pde, cloud, until=3.0, step=0.01)
    omega = math.sqrt(1 - gamma**2 / 4)
    factor = math.exp(-1.5 * gamma) * (
        math.cos(3 * omega) + gamma / (2 * omega) * math.sin(3 * omega)
    )
    torch.testing.assert_close(run.points[-1], factor * cloud.points, rtol=1e-7, atol=1e-8)
    assert run.points.shape[-1] == 2


def test_momentum_on_the_sphere_keeps_energy_and_norm():
    # without damping 1/2 |u|^2 + F is conserved where the force is minus the gradient of F
    # (USA, n F = potential)
    cloud = vl.Cloud.sphere(n=6, d=3, seed=5)
    pde = vl.TransformerPDE("unnormalised", geometry="sphere", terms="momentum:damping=0")
    run = vl.simulate(pde, cloud, until=1.0, step=5e-3, save_every=1)
    norms = run.points.norm(dim=-1)
    torch.testing.assert_close(norms, torch.ones_like(norms), rtol=0, atol=1e-12)
    h = 5e-3
    speed = (run.points[2:] - run.points[:-2]) / (2 * h)
    kinetic = 0.5 * speed.square().sum(-1).mean(-1)
    static = pde.replace(terms=())
    potential = torch.stack([vl.energy(static, vl.Cloud(x)) for x in run.points[1:-1]])
    total = kinetic + potential
    assert kinetic.max() > 0.02  # the tokens do move
    assert (total - total[0]).abs().max() < 1e-4  # central differences are off by h^2
