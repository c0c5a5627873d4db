"""The verb `reduce` against exact solutions, identities, and its refusals."""

import math

import pytest
import torch

import vlasov as vl
from vlasov.errors import InvalidValue, NotFinite, ShapeMismatch, Unsupported
from vlasov.pde import Decay, LinearTerm, Perceptron

pytestmark = pytest.mark.usefixtures("unchecked_types")

D = torch.float64
EYE = torch.eye(2, dtype=D)


def normal(*shape, seed=0, scale=1.0):
    generator = torch.Generator().manual_seed(seed)
    return scale * torch.randn(*shape, generator=generator, dtype=D)


def covariance(d=2, rank=None, seed=0):
    root = normal(d, rank or d, seed=seed, scale=0.7)
    return root @ root.T


def equation(attention="softmax", *, score=EYE, value=EYE, **parts):
    """Scores ``y^T score x``."""
    return vl.TransformerPDE(
        attention, vl.Projections(score, torch.eye(len(score)), value), **parts
    )


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_softmax_with_v_the_identity_has_a_closed_form_at_any_rank(rank):
    a, cov = normal(3, 3, seed=1, scale=0.3), covariance(3, rank, seed=2)
    law = vl.Gaussian(torch.zeros(3), cov)
    run = vl.reduce(equation(score=a, value=torch.eye(3)), law, until=0.5, frames=3)
    for t, found in zip(run.times, run.cov, strict=True):
        inner = torch.eye(3) - t * law.factor.T @ (a + a.T) @ law.factor
        wanted = law.factor @ torch.linalg.inv(inner) @ law.factor.T
        torch.testing.assert_close(found, wanted, rtol=1e-9, atol=1e-10)
    assert (run.final.rank == rank).all()


def test_softmax_on_the_line():
    v, a, s, m = 1.3, -0.7, 0.8, 0.5
    run = vl.reduce(
        equation(score=torch.tensor([[a]], dtype=D), value=torch.tensor([[v]], dtype=D)),
        vl.Gaussian(m, s),
        until=2.0,
    )
    left = 1 - 2 * v * a * s * run.times
    torch.testing.assert_close(run.cov[:, 0, 0], s / left, rtol=1e-9, atol=0)
    torch.testing.assert_close(
        run.mean[:, 0], m * (v * run.times).exp() / left.sqrt(), rtol=1e-9, atol=0
    )


def mode(attention, d, c, t):
    """An eigenvalue of the decoupled problem, by its own equation at tight tolerance."""
    from scipy.integrate import solve_ivp

    def rate(_, lam):
        if attention == "softmax":
            return 2 * d * lam**2
        if attention == "l2":
            return 4 * d * lam**2 / (1 + 2 * d / c * lam)
        return 2 * lam * 2 * d * lam / (1 + math.sqrt(1 + 4 * (d * lam[0]) ** 2))

    return solve_ivp(rate, (0, t), [1.0], rtol=1e-12, atol=1e-14, method="DOP853").y[0, -1]


@pytest.mark.parametrize("c", [0.6, -0.8])
@pytest.mark.parametrize("attention", ["softmax", "l2", "sinkhorn"])
def test_the_decoupled_problem(attention, c):
    k, cov = normal(2, 2, seed=3, scale=0.6), covariance(seed=4)
    pde = vl.TransformerPDE(attention, vl.Projections(c * k, k, EYE))
    run = vl.reduce(pde, vl.Gaussian([0.0, 0.0], cov), until=0.4, frames=2)
    values, vectors = torch.linalg.eigh(cov)
    root = vectors @ values.sqrt().diag() @ vectors.T
    d, u = torch.linalg.eigh(root @ (c * k.T @ k) @ root)
    modes = torch.tensor([mode(attention, float(one), c, 0.4) for one in d], dtype=D)
    torch.testing.assert_close(
        run.cov[-1], root @ u @ modes.diag() @ u.T @ root, rtol=1e-9, atol=1e-10
    )


def test_the_rotation_keeps_the_gap_of_the_eigenvalues():
    turn = torch.tensor([[0.0, -1.0], [1.0, 0.0]], dtype=D)
    run = vl.reduce(
        equation(score=turn, value=turn), vl.Gaussian([0.0, 0.0], covariance()), until=8
    )
    values = torch.linalg.eigvalsh(run.cov)
    gap = values[:, 1] - values[:, 0]
    torch.testing.assert_close(gap, gap[:1].expand_as(gap), rtol=1e-9, atol=0)
    assert values[-1, 0] < 1e-3 * values[-1, 1]


@pytest.mark.parametrize("eps", [1.0, 0.4])
def test_the_mean_under_sinkhorn_is_an_exponential(eps):
    value, mean = normal(2, 2, seed=5, scale=0.5), normal(2, seed=6)
    pde = equation(f"sinkhorn:eps={eps}", score=normal(2, 2, seed=7), value=value)
    run = vl.reduce(pde, vl.Gaussian(mean, covariance()), until=1.0, frames=4)
    wanted = torch.linalg.matrix_exp(run.times[:, None, None] * value / eps) @ mean
    torch.testing.assert_close(run.mean, wanted, rtol=1e-9, atol=1e-10)


def test_linear_attention_moves_the_second_moment_of_any_cloud_like_softmax_a_covariance():
    score, value = normal(2, 2, seed=8, scale=0.3), normal(2, 2, seed=9, scale=0.5)
    cloud = vl.Cloud(normal(7, 2, seed=10))
    moment = cloud.points.T @ cloud.points / 7
    run = vl.simulate(
        equation("linear", score=score, value=value),
        cloud,
        until=0.4,
        step="adaptive",
        integrator="dop853",
        rtol=1e-11,
        atol=1e-13,
        save_at=[0.4],
    )
    red = vl.reduce(
        equation(score=score, value=value), vl.Gaussian([0.0, 0.0], moment), until=0.4, frames=2
    )
    points = run.points[-1]
    torch.testing.assert_close(points.T @ points / 7, red.cov[-1], rtol=1e-9, atol=1e-10)


def test_one_step_of_the_flow_is_one_step_of_the_nodes():
    maps = [normal(2, k, 2, seed=11 + k + i, scale=0.3) for i, k in enumerate((3, 3, 2))]
    biases = [normal(2, k, seed=21 + k + i) for i, k in enumerate((3, 3, 2))]
    names = ("query_bias", "key_bias", "value_bias")
    maps = vl.Projections(*maps, **dict(zip(names, biases, strict=True)))
    pde = vl.TransformerPDE("softmax+l2", maps)
    law = vl.Gaussian(normal(2, seed=17), covariance(seed=18))
    cloud = vl.Cloud.hermite(40, law.mean, law.cov)
    for method in ("euler", "rk4"):
        run = vl.simulate(pde, cloud, until=0.2, step=0.1, integrator=method)
        red = vl.reduce(pde, law, until=0.2, step=0.1, integrator=method)
        moved = red.flow_at(0.2)(cloud.points)
        near = (cloud.points - law.mean).norm(dim=-1) < 2
        assert (moved - run.points[-1])[near].abs().max() < 1e-9


def test_forwards_and_backwards_come_home():
    pde, law = equation("l2", score=normal(2, 2, seed=1)), vl.Gaussian(normal(2), covariance())
    there = vl.reduce(pde, law, until=1.0, frames=2).final
    back = vl.reduce(pde, there, start=1.0, until=0.0, frames=2).final
    torch.testing.assert_close(back.cov, law.cov, rtol=1e-7, atol=1e-8)
    torch.testing.assert_close(back.mean, law.mean, rtol=1e-7, atol=1e-8)


def test_parameters_that_depend_on_time():
    """V = I: the inverse covariance loses the integral of A + A^T, here of layers."""
    first, second = normal(2, 2, seed=1, scale=0.3), normal(2, 2, seed=2, scale=0.3)
    layers = tuple(vl.Projections(a, EYE, EYE) for a in (first, second))
    cov = covariance(seed=3)
    integral = 0.5 * (first + first.T) + 0.3 * (second + second.T)
    wanted = torch.linalg.inv(torch.linalg.inv(cov) - integral)
    pde = vl.TransformerPDE(projections=vl.LayeredProjections(layers, duration=0.5))
    law = vl.Gaussian([0.0, 0.0], cov)
    run = vl.reduce(pde, law, until=0.8, frames=2)
    torch.testing.assert_close(run.cov[-1], wanted, rtol=1e-9, atol=1e-10)
    two = vl.Gaussian(torch.zeros(2, 2), torch.stack([cov, 2 * cov]))
    batch = vl.reduce(pde, two, until=0.8)
    torch.testing.assert_close(batch.cov[-1, 0], wanted, rtol=1e-9, atol=1e-10)


def test_local_terms_and_independent_noise():
    """V = 0 and decay: an Ornstein-Uhlenbeck law; softmax with noise on the line: tan or tanh."""
    still = vl.Projections(EYE, EYE, 0 * EYE)
    pde = vl.TransformerPDE(projections=still, terms=Decay(0.7), noise="independent:diffusion=0.4")
    cov = covariance(rank=1)
    run = vl.reduce(pde, vl.Gaussian([1.0, 2.0], cov), until=1.5, frames=4)
    fade = (-1.4 * run.times).exp()[:, None, None]
    torch.testing.assert_close(
        run.cov, fade * cov + (1 - fade) * (0.4 / 0.7) * EYE, rtol=1e-9, atol=1e-10
    )
    torch.testing.assert_close(
        run.mean, (-0.7 * run.times).exp()[:, None] * run.mean[0], rtol=1e-9, atol=1e-10
    )
    # s' = -2 s^2 + 2 D from 0: s = sqrt(D) tanh(2 sqrt(D) t)
    line = vl.TransformerPDE(beta=-1.0, noise="independent:diffusion=0.25")
    found = vl.reduce(line, vl.Gaussian(0.0, 0.0), until=2.0, frames=5)
    torch.testing.assert_close(
        found.cov[:, 0, 0], 0.5 * (found.times).tanh(), rtol=1e-8, atol=1e-9
    )
    swirl = vl.TransformerPDE(projections=still, terms=LinearTerm(normal(2, 2, seed=4)))
    turned = vl.reduce(swirl, vl.Gaussian([1.0, 2.0], cov), until=0.5, frames=2).flow_at(0.5)
    wanted = torch.linalg.matrix_exp(0.5 * normal(2, 2, seed=4))
    torch.testing.assert_close(turned.matrix, wanted, rtol=1e-9, atol=1e-10)


def test_a_mask_changes_nothing_where_the_law_is_the_same_at_every_position():
    law = vl.Gaussian(normal(2), covariance())
    plain = vl.reduce(equation(), law, until=0.2, frames=2)
    with pytest.raises(Unsupported, match="positions='independent'"):
        vl.reduce(equation(mask="causal"), law, until=0.2, frames=2)
    for mask in ("causal", "window:width=0.3", "alibi:slope=2"):
        masked = vl.reduce(equation(mask=mask), law, until=0.2, frames=2, positions="independent")
        assert torch.equal(masked.cov, plain.cov)


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ({"geometry": "sphere"}, "flat space"),
        ({"terms": "momentum"}, "'momentum' is no affine force"),
        ({"terms": Perceptron(EYE, EYE)}, "'perceptron' is no affine force"),
        ({"noise": "common"}, "'common' noise is random"),
        ({"attention": "sigmoid"}, "'sigmoid' does not keep Gaussians Gaussian"),
        ({"attention": "sinkhorn", "mask": "causal"}, "one-sided mask"),
        ({"attention": "sinkhorn", "mask": "window:width=1,causal=true"}, "one-sided mask"),
        ({"attention": "linear", "mask": "alibi:slope=1"}, "ALiBi"),
        ({"mask": torch.ones(3, 3, dtype=torch.bool)}, "explicit mask"),
    ],
)
def test_equations_that_do_not_keep_gaussians_are_refused(parts, words):
    with pytest.raises(Unsupported, match=words):
        vl.reduce(
            vl.TransformerPDE(**parts),
            vl.Gaussian([1.0, 0.0], EYE),
            until=1.0,
            positions="independent",
        )


@pytest.mark.parametrize(
    ("choices", "words"),
    [
        ({"step": "adaptiv"}, "'adaptive'"),
        ({"frames": 1}, "frames=1"),
        ({"frames": 3, "save_at": [0.5]}, "both given"),
        ({"save_at": [2.0]}, "Save times"),
        ({"threshold": 1.0}, "threshold"),
        ({"positions": "same"}, "'same'"),
    ],
)
def test_choices_out_of_range_are_refused(choices, words):
    with pytest.raises(InvalidValue, match=words):
        vl.reduce(vl.TransformerPDE(), vl.Gaussian(0.0, 1.0), until=1.0, **choices)


def test_laws_and_maps_of_different_width_are_refused():
    with pytest.raises(ShapeMismatch, match="the law has width 1"):
        vl.reduce(equation(), vl.Gaussian(0.0, 1.0), until=1.0)


def test_a_start_outside_the_domain_is_refused():
    with pytest.raises(NotFinite, match="beta < 0"):
        vl.reduce(vl.TransformerPDE("l2", beta=-1.0), vl.Gaussian(0.0, 1.0), until=1.0)


def test_frames_and_the_times_between_them():
    run = vl.reduce(equation(beta=-1.0), vl.Gaussian([0.0, 0.0], EYE), until=1.0, save_at=[0.25])
    assert run.times.tolist() == [0.0, 0.25, 1.0]
    assert torch.equal(run.at(0.25).mean, run.mean[1])
    with pytest.raises(InvalidValue, match=r"0\.3 is none; the nearest is t = 0\.25"):
        run.at(0.3)
    with pytest.raises(InvalidValue, match=r"up to t = 1 but was asked for at t = 1\.5"):
        run.flow_at(1.5)


def test_too_few_steps_end_a_run_by_name():
    run = vl.reduce(equation(), vl.Gaussian([0.0, 0.0], EYE), until=0.4, max_steps=2)
    assert run.status == "max-steps"
    assert "max_steps" in run.message


def test_precision_and_gradients_follow_the_law():
    run = vl.reduce(
        vl.TransformerPDE(beta=-1.0),
        vl.Gaussian(torch.zeros(1), torch.ones(1, 1)),
        until=1.0,
        frames=2,
    )
    assert run.cov.dtype == torch.float32
    assert run.cov[-1].item() == pytest.approx(1 / 3, rel=1e-5)
    variance = torch.tensor([[0.8]], dtype=D, requires_grad=True)
    last = vl.reduce(
        vl.TransformerPDE(beta=-1.0), vl.Gaussian([0.0], variance), until=1.0, frames=2
    ).cov[-1]
    last.sum().backward()  # s / (1 + 2 s t)
    assert variance.grad.item() == pytest.approx(1 / (1 + 2 * 0.8) ** 2, rel=1e-8)
    query = torch.tensor([[-1.0]], dtype=D, requires_grad=True)
    pde = vl.TransformerPDE("l2", vl.Projections(query, [[1.0]], [[1.0]]))
    vl.reduce(pde, vl.Gaussian(0.0, 1.0), until=0.5, frames=2).cov[-1].sum().backward()
    assert 0 < query.grad.item() < math.inf
