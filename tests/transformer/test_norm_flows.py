r"""Norm placement on equiangular tokens: V27 to V29.

Tokens with pairwise cosine rho and norm r sqrt(d), Q = K = V = I. With
:math:`b = 1/(e^{\beta(1-\rho)} + n - 1)` and s the speed of a scheme, g = 1 - rho obeys
:math:`g' = -2 s b\, g\, (1 + (n-1)(1-g))`.
"""

import math

import pytest
import torch
from torch.testing import assert_close

from vlasov.integration import AdaptiveStep, FixedStep, Plan, Problem, build_method, integrate
from vlasov.transformer import NORMS, AttentionLayer, TransformerConfig

pytestmark = pytest.mark.usefixtures("unchecked_types")

PLAIN = "kind=rms,gain=false,eps=0"
SPECS = {
    "post": f"post:{PLAIN}",
    "pre": f"pre:{PLAIN}",
    "peri": f"peri:{PLAIN}",
    "ngpt": "ngpt:alpha=1,eps=0",
    "ln-scaling": f"ln-scaling:{PLAIN}",
    "mix": f"mix:{PLAIN},post=0.5",
}
RADIAL = ("pre", "peri", "ln-scaling", "mix")


def _attention(n, beta):
    """The branch of n identity tokens; an RMS norm gives them length sqrt(d), so beta / d."""
    config = TransformerConfig(
        width=n, depth=1, heads=1, beta=beta / n, positions="none", mlp="none", bias=False
    )
    layer = AttentionLayer(config).double()
    with torch.no_grad():
        for p in layer.parameters():
            p.copy_(torch.eye(n))
    log_w = torch.full((1, n), -math.log(n), dtype=torch.float64)
    return lambda x: layer(x, log_w)


def _start(n):
    return torch.eye(n, dtype=torch.float64) * math.sqrt(n)


def _cosine(x):
    return torch.nn.functional.cosine_similarity(x[0], x[1], dim=0)


def _speeds(name, n, beta, g, r, t):
    """The speed of the angle and that of the radius."""
    b = 1 / ((beta * g).exp() + n - 1)
    a = 1 - (n - 1) * b
    rho = 1 - g
    along = a + (n - 1) * b * rho
    size = (a * a + 2 * a * (n - 1) * b * rho + b * b * (n - 1) * (1 + (n - 2) * rho)).sqrt()
    angle = {"pre": 1 / r, "peri": 1 / (r * size), "ngpt": 1 / size}.get(name, torch.ones_like(r))
    radius = {"pre": along, "peri": along / size}.get(name, torch.zeros_like(r))
    if name == "ln-scaling":
        fade = 1 / math.sqrt(1 + t)
        angle, radius = fade / r, fade * along
    if name == "mix":
        angle, radius = (1 / r, along) if t >= 1 else (torch.ones_like(r), torch.zeros_like(r))
    return -2 * angle * b * g * (1 + (n - 1) * rho), radius


def _flow(name, n, beta, until, step, save_at):
    """States [log g, r] at the given times."""

    def field(t, state):
        g, r = state[..., 0].exp(), state[..., 1]
        g_slope, r_slope = _speeds(name, n, beta, g, r, float(t))
        return torch.stack([g_slope / g, r_slope], dim=-1)

    frames = {}

    class Observer:
        def save(self, state):
            frames[float(state.t)] = state.x.clone()

        def step(self, state):
            return True

    problem = Problem(
        field=field,
        initial=torch.tensor([0.0, 1.0], dtype=torch.float64),
        until=until,
        breaks=(1.0,) if name == "mix" else (),
        system_ndim=1,
    )
    integrate(problem, Plan(build_method("dopri5"), step, save_at=save_at), observer=Observer())
    return torch.stack([frames[t] for t in save_at])


@pytest.mark.parametrize(
    ("beta", "slow", "fast"), [(1, 0.0077604, 0.1234688), (4, 0.00646, 0.0351584)]
)
@pytest.mark.parametrize("name", ["post", "pre", "peri", "ngpt"])
def test_v27_initial_speed(name, beta, slow, fast):
    n, scale = 256, torch.zeros((), dtype=torch.float64, requires_grad=True)
    layer = NORMS.build(SPECS[name]).build(n)
    rho = _cosine(layer.wrap(_start(n), _attention(n, beta), scale))
    speed = torch.autograd.grad(rho, scale)[0].item()
    exact = 2 / (math.exp(beta) + n - 1)
    if name in ("peri", "ngpt"):
        exact *= (math.exp(beta) + n - 1) / math.sqrt(math.exp(2 * beta) + n - 1)
    assert math.isclose(speed, exact, rel_tol=1e-10)
    assert math.isclose(speed, fast if name in ("peri", "ngpt") else slow, abs_tol=1e-6)


@torch.no_grad()
@pytest.mark.parametrize(
    ("name", "rho", "radius"),
    [
        ("post", 0.999807, 1.0),
        ("pre", 0.948034, 4.861),
        ("peri", 0.968896, 6.2916),
        ("ngpt", 0.999982, 1.0),
        ("ln-scaling", 0.793758, 2.430),
    ],
)
def test_v29_layers_follow_the_flow(name, rho, radius):
    n, eta, depth = 24, 0.01, 600
    scheme, branch, x = NORMS.build(SPECS[name]), _attention(24, 1.0), _start(24)
    for layer in range(depth):
        x = scheme.build(n, layer, depth).wrap(x, branch, eta * scheme.factor(layer, eta))
    found = _cosine(x).item(), x[0].norm().item() / math.sqrt(n)
    assert abs(found[0] - rho) < 1e-6  # digits given
    assert abs(found[1] - radius) < 1e-3
    log_g, r = _flow(name, n, 1.0, 6.0, FixedStep(0.05), (6.0,))[0].tolist()
    assert abs(found[0] - (1 - math.exp(log_g))) < 5e-4
    assert abs(found[1] / r - 1) < 2e-3


@pytest.mark.parametrize("beta", [1.0, pytest.param(4.0, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    ("name", "low", "high"),
    [
        ("post", -2.02, -1.98),
        ("ngpt", -2.02, -1.98),
        ("pre", -2.04, -1.96),
        ("mix", -2.04, -1.96),
        ("peri", -2.04, -1.96),
        ("ln-scaling", -1.2, -1.0),
    ],
)
def test_v28_terminal_law(name, low, high, beta):
    """Exponential (by t) without a radius that grows, algebraic (by log t) with one."""
    window = (200.0, 2000.0) if name in RADIAL else (7.0, 10.0)
    times = tuple(
        float(t) for t in torch.linspace(math.log(window[0]), math.log(window[1]), 9).exp()
    )
    adaptive = AdaptiveStep(rtol=1e-7, atol=1e-10)
    states = _flow(name, 256, beta, times[-1], adaptive, times)
    clock = torch.tensor(times, dtype=torch.float64)
    clock = clock.log() if name in RADIAL else clock
    centred = clock - clock.mean()
    slope = (centred @ states[:, 0] / centred.square().sum()).item()
    assert low < slope < high
    if name == "ln-scaling":
        exponent = (centred @ states[:, 1].log() / centred.square().sum()).item()
        assert 0.5 < exponent < 0.6


def test_the_speeds_are_those_of_the_branch():
    n, beta, g = 7, 1.3, torch.tensor(0.6, dtype=torch.float64)
    gram = (1 - g) * torch.ones(n, n, dtype=torch.float64) + g * torch.eye(n, dtype=torch.float64)
    x = torch.linalg.cholesky(gram) * math.sqrt(n)
    moved = _attention(n, beta)(x) / math.sqrt(n)
    theta = x / math.sqrt(n)
    tangent = moved - (moved * theta).sum(-1, keepdim=True) * theta
    one = torch.ones((), dtype=torch.float64)
    angle, radius = _speeds("pre", n, beta, g, one, 0.0)
    assert_close(-(tangent[0] @ theta[1] + tangent[1] @ theta[0]), angle)
    assert_close((moved[0] * theta[0]).sum(), radius)
    assert_close(moved[0].norm(), radius / _speeds("peri", n, beta, g, one, 0.0)[1])
