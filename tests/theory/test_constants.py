"""The constants of the theory as inequalities, and against integrals known in closed form."""

import math

import pytest
import torch
from covariance_equation import normal
from scipy.integrate import quad

import vlasov as vl
from vlasov.errors import InvalidValue, Unsupported
from vlasov.theory import existence_time, lipschitz, log_stability, support_radius

VARIANTS = ["softmax", "l2", "sigmoid:bias=-0.5", "linear", "unnormalised", "softmax+l2"]
variants = pytest.mark.parametrize("attention", VARIANTS)
RADIUS = 1.3
EYE = torch.eye(2, dtype=torch.float64)


def equation(attention: str, seed: int, scale: float = 0.6, **parts: object) -> vl.TransformerPDE:
    heads = attention.count("+") + 1
    maps = vl.Projections.random(2, heads=heads, seed=seed, scale=scale)
    return vl.TransformerPDE(attention, maps, beta=0.8, **parts)


def ball(n: int, seed: int) -> torch.Tensor:
    return vl.Cloud.ball(n, 2, radius=RADIUS, seed=seed).points


def field(pde: vl.TransformerPDE, keys: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """The velocity that tokens x see of a cloud in which they have no weight."""
    log_w = torch.full((len(keys) + len(x),), -80.0, dtype=torch.float64)
    log_w[: len(keys)] = -math.log(len(keys))
    both = vl.Cloud.from_log_weights(torch.cat([keys, x]), log_w)
    return pde.replace(engine="dense").particle_field(both)(0.0, both.points)[len(keys) :]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("attention", [*VARIANTS, "sinkhorn:eps=0.7"])
def test_velocity_is_below_its_bound(attention, seed):
    pde, x = equation(attention, seed), ball(40, seed)
    speed = vl.velocity(pde, vl.Cloud(x)).norm(dim=-1).max()
    assert 0 < speed <= lipschitz(pde, RADIUS).speed


@pytest.mark.parametrize("seed", range(4))
@variants
def test_derivative_in_space_is_below_its_bound(attention, seed):
    pde, keys, x = equation(attention, seed), ball(30, seed), ball(10, seed + 9)
    h = 1e-6
    slopes = [(field(pde, keys, x + h * e) - field(pde, keys, x - h * e)) / (2 * h) for e in EYE]
    worst = torch.linalg.matrix_norm(torch.stack(slopes, -1), ord=2).max()
    assert 0 < worst <= lipschitz(pde, RADIUS).in_space


@pytest.mark.parametrize("seed", range(4))
@variants
def test_dependence_on_the_law_is_below_its_bound(attention, seed):
    """Laws of equal weights coupled token by token: W_1 is at most the mean displacement."""
    pde, keys, x = equation(attention, seed), ball(30, seed), ball(10, seed + 9)
    moved = keys * (1 - 0.3 * torch.rand(30, 1, dtype=torch.float64))
    distance = (moved - keys).norm(dim=-1).mean()
    gap = (field(pde, moved, x) - field(pde, keys, x)).norm(dim=-1).max()
    assert 0 < gap <= lipschitz(pde, RADIUS).in_measure * distance


def test_bounds_are_attained_by_simple_laws():
    """One token: speed |V||x|; two opposite ones at x = 0: derivative |V||A|R^2 of softmax."""
    one = vl.Cloud([[RADIUS, 0.0]])
    pde = vl.TransformerPDE(projections=vl.Projections(EYE, 0.5 * EYE, 2 * EYE))
    bound = lipschitz(pde, RADIUS)
    assert vl.velocity(pde, one).norm().item() == pytest.approx(bound.speed, rel=1e-14)
    keys, h = torch.stack([RADIUS * EYE[0], -RADIUS * EYE[0]]), 1e-6
    slope = field(pde, keys, h * EYE[:1]).norm() / h
    assert slope.item() == pytest.approx(bound.in_space, rel=1e-9)


def test_constants_of_heads_add_up_and_beta_enters():
    first, second = (vl.Projections.random(3, seed=s) for s in (1, 2))
    parts = [lipschitz(vl.TransformerPDE("l2", m, beta=0.3), 1.1) for m in (first, second)]
    stacked = vl.Projections.stack([first, second])
    whole = lipschitz(vl.TransformerPDE("l2", stacked, beta=0.3), 1.1)
    assert whole.speed == pytest.approx(sum(p.speed for p in parts))
    assert whole.in_space == pytest.approx(sum(p.in_space for p in parts))
    assert whole.in_measure == pytest.approx(sum(p.in_measure or math.nan for p in parts))
    scaled = vl.Projections(math.sqrt(0.3) * first.query, math.sqrt(0.3) * first.key, first.value)
    same = lipschitz(vl.TransformerPDE("l2", scaled), 1.1)
    assert same.in_measure == pytest.approx(parts[0].in_measure)


def test_log_stability_is_the_integral_of_the_constants():
    pde = equation("softmax+l2", 3)
    rate = lipschitz(pde, 1.0).speed

    def slope(s: float) -> float:
        constants = lipschitz(pde, 0.9 * math.exp(rate * s))
        return constants.in_space + constants.in_measure

    assert log_stability(pde, 0.9, 0.8) == pytest.approx(quad(slope, 0, 0.8)[0], rel=1e-10)
    assert support_radius(pde, 0.9, 0.8) == pytest.approx(0.9 * math.exp(0.8 * rate), rel=1e-12)


def test_parameters_along_depth_are_integrated():
    layers = tuple(vl.Projections.random(2, seed=s) for s in range(3))
    path = vl.LayeredProjections(layers, duration=0.5)
    norms = [float(torch.linalg.matrix_norm(m.value[0], 2)) for m in layers]
    layered = vl.TransformerPDE(projections=path)
    expected = math.exp(0.5 * norms[0] + 0.5 * norms[1] + 0.2 * norms[2])
    assert support_radius(layered, 1.0, 1.2) == pytest.approx(expected, rel=1e-12)
    smooth = vl.Projections(EYE, EYE, lambda t: math.cos(t) * EYE)
    pde = vl.TransformerPDE(projections=smooth)
    assert support_radius(pde, 2.0, 1.0) == pytest.approx(2 * math.exp(math.sin(1.0)), rel=1e-12)

    def slope(s: float) -> float:
        constants = lipschitz(pde, 0.5 * math.exp(math.sin(s)), s)
        return constants.in_space + constants.in_measure

    assert log_stability(pde, 0.5, 1.0) == pytest.approx(quad(slope, 0, 1)[0], rel=1e-10)


def test_the_logarithm_does_not_overflow_before_it_must():
    mild = vl.TransformerPDE()
    assert 1e24 < log_stability(mild, 2.0, 1.0) < 1e26
    assert log_stability(mild, 2.0, 10.0) == math.inf


def test_causal_masks_divide_by_the_atom_or_use_hardy():
    pde = equation("softmax", 1)
    plain, masked = log_stability(pde, 1.0, 0.5), pde.replace(mask="causal")
    space = quad(lambda s: lipschitz(pde, support_radius(pde, 1.0, s)).in_space, 0, 0.5)[0]
    measure = plain - space
    assert log_stability(masked, 1.0, 0.5, atom=0.1) == pytest.approx(space + 10 * measure)
    assert log_stability(masked, 1.0, 0.5, power=3.0) == pytest.approx(space + 1.5 * measure)
    both = log_stability(masked, 1.0, 0.5, atom=0.1, power=3.0)
    assert both == log_stability(masked, 1.0, 0.5, power=3.0)
    with pytest.raises(InvalidValue, match="needs a mass `atom` > 0"):
        log_stability(masked, 1.0, 0.5, atom=0.0)
    with pytest.raises(Unsupported, match="but got 'window'"):
        log_stability(pde.replace(mask="window:width=2"), 1.0, 0.5)


@pytest.mark.parametrize("attention", ["softmax", "l2", "sigmoid", "softmax+sigmoid"])
def test_golden_14_distances_of_tokens_stay_below_the_stability_bound(attention):
    """Clouds coupled token by token: their distance bounds W_p, and obeys the same estimate."""
    pde = equation(attention, 5, scale=0.3)
    x = ball(40, 1) / RADIUS
    y = x * (1 - 0.1 * torch.rand(40, 1, dtype=torch.float64))
    ends = [vl.simulate(pde, vl.Cloud(c), until=1.0, step=0.05).points[-1] for c in (x, y)]
    bound = log_stability(pde, 1.0, 1.0)
    for p in (1, 2):
        before, after = ((a - b).norm(dim=-1).pow(p).mean() for a, b in ((x, y), ends))
        assert math.log(after / before) / p <= bound
    assert max(float(e.norm(dim=-1).max()) for e in ends) <= support_radius(pde, 1.0, 1.0)


@pytest.mark.parametrize("attention", ["linear", "unnormalised"])
@pytest.mark.usefixtures("unchecked_types")
def test_nothing_blows_up_before_the_time_of_existence(attention):
    pde, cloud = equation(attention, 4, scale=1.5), vl.Cloud(1.5 * normal(12, 2, seed=4))
    time = existence_time(pde, float(cloud.points.norm(dim=-1).max()))
    run = vl.simulate(pde, cloud, until=0.999 * time, step=time / 50)
    assert run.status == "finished"


def test_golden_11_one_token_attains_the_time_of_existence():
    """With V = A = 1 the equations are x' = x^3 and x' = x e^(x^2)."""
    assert existence_time(vl.TransformerPDE("linear"), 0.7) == pytest.approx(1.020408163, abs=1e-9)
    exponential = existence_time(vl.TransformerPDE("unnormalised"), 0.7)
    assert exponential == pytest.approx(0.286044418, abs=1e-9)


def test_what_has_no_constants_is_refused():
    with pytest.raises(Unsupported, match="field may jump"):
        lipschitz(vl.TransformerPDE("hardmax"), 1.0)
    with pytest.raises(Unsupported, match="No explicit stability constant"):
        log_stability(vl.TransformerPDE("sinkhorn"), 1.0, 1.0)
    with pytest.raises(Unsupported, match="may blow up"):
        support_radius(vl.TransformerPDE("linear"), 1.0, 1.0)
    with pytest.raises(Unsupported, match="all heads are linear or all unnormalised"):
        existence_time(vl.TransformerPDE("linear+softmax", vl.Projections.identity(2, 2)), 1.0)
    with pytest.raises(Unsupported, match="the geometry 'sphere'"):
        lipschitz(vl.TransformerPDE(geometry="sphere"), 1.0)
    with pytest.raises(Unsupported, match="the term 'decay'"):
        lipschitz(vl.TransformerPDE(terms="decay"), 1.0)
    with pytest.raises(Unsupported, match="the noise 'independent'"):
        lipschitz(vl.TransformerPDE(noise="independent"), 1.0)
    maps = vl.Projections(EYE, EYE, EYE, key_bias=[1.0, 0.0])
    with pytest.raises(Unsupported, match="a key_bias"):
        lipschitz(vl.TransformerPDE(projections=maps), 1.0)
    with pytest.raises(InvalidValue, match="from 0 on"):
        support_radius(vl.TransformerPDE(), 1.0, -1.0)
    assert existence_time(vl.TransformerPDE(), 1.0) == math.inf
