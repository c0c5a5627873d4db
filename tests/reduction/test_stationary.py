"""Which covariances stay, and what that says of their rank."""

import pytest
import torch
from covariance_equation import integrated, normal, one_head, positive, rotation
from torch.testing import assert_close

import vlasov as vl
from vlasov.errors import InvalidValue, Unsupported
from vlasov.reduction.exact import exact_limit
from vlasov.reduction.stationary import covariance_velocity, stationarity

EYE = torch.eye(4, dtype=torch.float64)
EYE2 = torch.eye(2, dtype=torch.float64)
J = torch.tensor([[0.0, -1.0], [1.0, 0.0]], dtype=torch.float64)
VARIANTS = ["softmax", "l2", "sinkhorn:eps=0.3", "linear"]
STILL = 1e-12  # rounding of products of matrices of size one
variants = pytest.mark.parametrize("attention", VARIANTS)
seeds = pytest.mark.parametrize("seed", range(3))


@seeds
@variants
def test_velocity_is_the_slope_of_the_solution(attention, seed):
    value, score, key = (normal(4, 4, seed=3 * seed + i) / 2 for i in range(3))
    pde, law = one_head(attention, value, score, key), vl.Gaussian(normal(4, seed=9), EYE)
    h = 3e-5
    _, after = integrated(pde, law.mean, law.cov, h)
    _, before = integrated(pde, law.mean, law.cov, -h)
    slope = (after - before) / (2 * h)
    assert_close(covariance_velocity(pde, law), slope, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("attention", ["softmax", "l2", "linear", "softmax+l2+linear"])
def test_velocities_of_heads_add_up(attention):
    heads = [vl.Projections.random(4, seed=i) for i in range(3)]
    law = vl.Gaussian(normal(4, seed=5), positive(4, 6))
    names = attention.split("+") if "+" in attention else [attention] * 3
    parts = [
        covariance_velocity(vl.TransformerPDE(name, maps), law)
        for name, maps in zip(names, heads, strict=True)
    ]
    whole = vl.TransformerPDE(attention, vl.Projections.stack(heads))
    assert_close(covariance_velocity(whole, law), sum(parts))


def random_equation(attention: str, seed: int) -> vl.TransformerPDE:
    return vl.TransformerPDE(attention, vl.Projections.random(4, seed=seed))


@seeds
@variants
def test_residual_has_no_unit(attention, seed):
    pde, law = random_equation(attention, seed), vl.Gaussian([0.0] * 4, positive(4, seed))
    residual, c = stationarity(pde, law), 3.0
    assert 1e-3 < residual < 2
    wide = vl.Gaussian(law.mean, c**2 * law.cov)
    cooled = pde.replace(beta=pde.beta / c**2)
    assert_close(stationarity(cooled, wide), residual)
    maps = pde.projections
    fast = pde.replace(projections=vl.Projections(maps.query, maps.key, 7 * maps.value))
    assert_close(stationarity(fast, law), residual)


@seeds
@variants
def test_the_factor_does_not_matter(attention, seed):
    pde, law = random_equation(attention, seed), vl.Gaussian([0.0] * 4, positive(4, seed, 2))
    turned = vl.Gaussian.of_factor(law.mean, law.factor @ rotation(4, seed))
    assert_close(stationarity(pde, turned), stationarity(pde, law))


@seeds
@pytest.mark.parametrize("attention", ["softmax", "linear", "sinkhorn:eps=0.3"])
def test_v_the_identity_and_range_isotropic_for_a(attention, seed):
    """Rank d - max(p, q) = 2 is reached for signature (2, 2); no random law of rank 3 stays."""
    u = rotation(4, seed)
    score = u @ torch.diag(torch.tensor([1.0, 1.0, -1.0, -1.0], dtype=torch.float64)) @ u.mT
    skew = normal(4, 4, seed=seed)
    pde = one_head(attention, EYE, score + skew - skew.mT)
    isotropic = u[:, :2] + u[:, 2:]
    law = vl.Gaussian.of_factor(0 * EYE[0], isotropic @ normal(2, 2, seed=seed))
    assert stationarity(pde, law) < STILL
    assert stationarity(pde, vl.Gaussian([0.0] * 4, positive(4, seed, 3))) > 1e-3


@variants
def test_v_the_identity_and_a_antisymmetric_leaves_every_covariance(attention):
    skew = normal(4, 4, seed=1)
    pde, law = one_head(attention, EYE, skew - skew.mT), vl.Gaussian([0.0] * 4, positive(4, 2))
    if attention == "l2":  # not so under L2: B = 2(I + 2L^T N L)^{-1} L^T A L is not antisymmetric
        assert stationarity(pde, law) > 1e-3
    else:
        assert stationarity(pde, law) < STILL


@seeds
@pytest.mark.parametrize("attention", ["softmax", "l2", "sinkhorn:eps=0.3"])
def test_limits_are_stationary(attention, seed):
    query = normal(2, 4, seed=seed)
    pde = vl.TransformerPDE(attention, vl.Projections(query, -query, EYE))
    limit = exact_limit(pde, vl.Gaussian([0.0] * 4, positive(4, seed)))
    law = vl.Gaussian([0.0] * 4, limit)
    assert law.rank == 2
    assert stationarity(pde, law) < STILL


def test_golden_7_rotation_keeps_the_gap_and_stops_at_rank_one():
    pde, law = one_head("softmax", J, J), vl.Gaussian([0.0, 0.0], positive(2, 3))
    assert_close(covariance_velocity(pde, law), -2 * torch.linalg.det(law.cov) * EYE2)
    values, vectors = torch.linalg.eigh(law.cov)
    limit = (values[1] - values[0]) * torch.outer(vectors[:, 1], vectors[:, 1])
    end = vl.Gaussian([0.0, 0.0], limit)
    assert stationarity(pde, end) < STILL
    assert torch.linalg.matrix_norm(J @ limit) > 0.1


def test_nothing_moves_without_spread_or_value():
    law = vl.Gaussian([1.0] * 4, 0 * EYE)
    for attention in VARIANTS:
        assert stationarity(random_equation(attention, 1), law) == 0
    maps = vl.Projections(EYE, EYE, 0 * EYE)
    assert stationarity(vl.TransformerPDE(projections=maps), vl.Gaussian([0.0] * 4, EYE)) == 0


def test_what_has_no_covariance_equation_is_refused():
    law = vl.Gaussian([0.0, 0.0], EYE2)
    with pytest.raises(Unsupported, match="'sigmoid' does not keep Gaussians Gaussian"):
        stationarity(vl.TransformerPDE("sigmoid"), law)
    with pytest.raises(InvalidValue, match="lowest eigenvalue is -1"):
        stationarity(vl.TransformerPDE("l2", beta=-1.0), law)
    moving = vl.TransformerPDE(projections=vl.Projections(lambda t: EYE2, EYE2, EYE2))
    with pytest.raises(Unsupported, match="parameters along depth"):
        stationarity(moving, law)
    biased = vl.Projections(EYE2, EYE2, EYE2, value_bias=[1.0, 0.0])
    with pytest.raises(Unsupported, match="a value_bias"):
        stationarity(vl.TransformerPDE(projections=biased), law)
