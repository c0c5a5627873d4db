"""Closed forms of the covariance equation against a solver, and against each other."""

import math

import pytest
import torch
from covariance_equation import integrated, normal, one_head, positive, rotation
from torch.testing import assert_close

import vlasov as vl
from vlasov.reduction.closed_forms import softmax_factor
from vlasov.reduction.exact import closed_form, exact, exact_blow_up_time, exact_limit

EYE = torch.eye(3, dtype=torch.float64)
ONE = EYE[:1, :1]
VARIANTS = ["softmax", "l2", "sinkhorn:eps=1.0", "sinkhorn:eps=0.3", "linear"]
SOLVER = {"rtol": 1e-9, "atol": 1e-10}  # the solver runs at 1e-12
variants = pytest.mark.parametrize("attention", VARIANTS)
seeds = pytest.mark.parametrize("seed", range(4))


def require_solution(pde: vl.TransformerPDE, law: vl.Gaussian, t: float) -> None:
    found = exact(pde, law, t)
    mean, cov = integrated(pde, law.mean, law.cov, t)
    assert_close(found.mean, mean, **SOLVER)
    assert_close(found.cov, cov, **SOLVER)


@seeds
@variants
def test_golden_2_decoupled_problem(attention, seed):
    key = normal(3, 3, seed=seed)
    score = -0.4 * key.mT @ key if seed % 2 else 0.15 * key.mT @ key
    law = vl.Gaussian(normal(3, seed=seed + 10) / 2, positive(3, seed + 20))
    pde = one_head(attention, 0.7 * EYE, score, key)
    end = exact_blow_up_time(pde, law)
    require_solution(pde, law, 0.8 if end is None else 0.6 * end)


@seeds
@variants
def test_d_1(attention, seed):
    value, score, key, mean, cov = normal(5, seed=seed)
    law = vl.Gaussian(mean, cov.abs() + 0.1)
    pde = one_head(attention, value.view(1, 1), score.view(1, 1), key.view(1, 1))
    end = exact_blow_up_time(pde, law)
    require_solution(pde, law, 0.9 if end is None else min(0.9, 0.8 * end))


@seeds
@pytest.mark.parametrize("attention", ["softmax", "l2", "sinkhorn:eps=0.5", "linear"])
def test_v_that_commutes_with_the_rest(attention, seed):
    u = rotation(3, seed)
    v, a, s, k = (u @ torch.diag(normal(3, seed=10 * seed + i)) @ u.mT for i in range(4))
    # under linear attention V must commute with the second moment: the mean is an eigenvector
    law = vl.Gaussian(u[:, 0] if attention == "linear" else normal(3, seed=seed), s @ s)
    pde = one_head(attention, v, a, k)
    end = exact_blow_up_time(pde, law)
    require_solution(pde, law, 0.9 if end is None else min(0.9, 0.7 * end))


@seeds
@pytest.mark.parametrize("rank", [1, 2, 3])
def test_v_a_multiple_of_the_identity_and_any_a(rank, seed):
    score, cov = normal(3, 3, seed=seed), positive(3, seed + 50, rank)
    pde, law = one_head("softmax", -1.3 * EYE, score), vl.Gaussian([0.0, 0.0, 0.0], cov)
    end = exact_blow_up_time(pde, law)
    require_solution(pde, law, 0.5 if end is None else min(0.5, 0.7 * end))


@seeds
@variants
def test_mean_outside_the_range_of_a_singular_covariance(attention, seed):
    key = normal(3, 3, seed=seed)
    law = vl.Gaussian(normal(3, seed=seed) / 2, positive(3, seed, 2))
    require_solution(one_head(attention, EYE, -0.3 * key.mT @ key, key), law, 1.0)


@seeds
@variants
def test_rank_one_law_with_any_maps(attention, seed):
    value, score, key = (normal(3, 3, seed=3 * seed + i) / 2 for i in range(3))
    line = normal(3, seed=seed)
    mean = 0.8 * line if attention == "linear" else 0 * line
    if attention.startswith("sinkhorn"):
        mean = normal(3, seed=seed + 9)
    law = vl.Gaussian(mean, torch.outer(line, line))
    pde = one_head(attention, value, score, key)
    assert closed_form(pde, law).case == "the law has rank one"
    end = exact_blow_up_time(pde, law)
    require_solution(pde, law, 0.5 if end is None else min(0.5, 0.6 * end))


@pytest.mark.parametrize("attention", VARIANTS)
def test_one_token_and_resting_laws(attention):
    token = vl.Gaussian([0.3, -0.2, 0.4], torch.zeros(3, 3).double())
    value = normal(3, 3, seed=1)
    if attention != "linear":
        require_solution(one_head(attention, value, normal(3, 3, seed=2)), token, 0.7)
    skew = normal(3, 3, seed=3)
    law = vl.Gaussian(0 * token.mean, positive(3, 4))
    pde = one_head("softmax" if attention == "l2" else attention, EYE, skew - skew.mT)
    assert closed_form(pde, law).case == "the covariance is stationary"
    require_solution(pde, law, 0.7)


def test_golden_11_one_token_under_linear_attention():
    assert exact_blow_up_time(vl.TransformerPDE("linear"), vl.Gaussian(0.7, 0.0)) == (
        pytest.approx(1.020408163, abs=1e-9)
    )


def test_golden_4_blow_up_in_one_dimension():
    pde = one_head("softmax", 1.3 * ONE, 0.7 * ONE)
    law = vl.Gaussian(0.4, 0.8)
    assert exact_blow_up_time(pde, law) == pytest.approx(0.6868131868, abs=1e-10)
    law = exact(pde, law, 0.5)
    assert_close(law.cov.item(), 0.8 / (1 - 2 * 1.3 * 0.7 * 0.8 * 0.5))
    assert_close(law.mean.item(), 0.4 * math.exp(0.65) / math.sqrt(1 - 1.3 * 0.7 * 0.8))


@pytest.mark.parametrize("seed", range(50))
def test_golden_3_blow_up_time_with_v_the_identity(seed):
    score, cov = normal(3, 3, seed=seed), positive(3, seed + 100)
    pde, law = one_head("softmax", EYE, score), vl.Gaussian([0.0, 0.0, 0.0], cov)
    top = torch.linalg.eigvals(cov @ (score + score.mT)).real.max()
    assert_close(exact_blow_up_time(pde, law), float(1 / top), rtol=1e-9, atol=0.0)
    near = exact(pde, law, (1 - 1e-7) * float(1 / top)).cov
    assert torch.linalg.eigvalsh(near)[-1] > 1e6 * torch.linalg.eigvalsh(cov)[0]


def test_golden_5_line_blow_up_of_l2_with_a_singular_key():
    """The law of rank one on the line (1, 1) with Sigma_0 = [[.4, .4], [.4, .4]]."""
    maps = vl.Projections([[0.0, 1.0]], [[1.0, 0.0]], [[0.0, 0.0], [0.0, 1.0]])
    law = vl.Gaussian([0.0, 0.0], [[0.4, 0.4], [0.4, 0.4]])
    time = exact_blow_up_time(vl.TransformerPDE("l2", maps), law)
    assert time == pytest.approx((1 + 2 * 0.4) / (2 * 0.4), rel=1e-9)


@seeds
def test_golden_8_one_limit_for_three_variants(seed):
    d, rank = 4, 2
    query, cov = normal(rank, d, seed=seed), positive(d, seed + 30)
    law = vl.Gaussian(torch.zeros(d).double(), cov)
    maps = vl.Projections(query, -query, torch.eye(d).double())
    _, _, vh = torch.linalg.svd(query)
    kernel = vh[rank:].mT
    expected = kernel @ torch.linalg.inv(kernel.mT @ torch.linalg.inv(cov) @ kernel) @ kernel.mT
    for attention in ("softmax", "l2", "sinkhorn:eps=0.7"):
        pde = vl.TransformerPDE(attention, maps)
        assert_close(exact_limit(pde, law), expected, rtol=1e-9, atol=1e-12)
        far = exact(pde, law, 1e9).cov  # the distance falls as 1/t
        assert_close(far, expected, rtol=0.0, atol=1e-6)


def test_growth_of_l2_and_decay_of_sinkhorn_in_one_dimension():
    law, t = vl.Gaussian(0.0, 0.8), torch.tensor([1e3, 2e3]).double()
    grown = exact(one_head("l2", 0.1 * ONE, ONE, 2 * ONE), law, t).cov.flatten()
    assert_close(
        (grown[1].log() - grown[0].log()) / 1e3, torch.tensor(0.05, dtype=torch.float64), **SOLVER
    )
    fallen = exact(one_head("sinkhorn:eps=1.0", -ONE, 0.7 * ONE), law, 1e6 * t).cov.flatten()
    assert_close(fallen * 2 * 0.7 * 1e6 * t, torch.ones(2).double(), rtol=1e-6, atol=0.0)


def test_parameters_along_depth_enter_by_their_integral():
    factor, a, b = positive(3, 1), normal(3, 3, seed=2), normal(3, 3, seed=3)
    middle = softmax_factor(factor, 0.05 * (a + a.mT))
    chained = softmax_factor(middle, 0.02 * (b + b.mT))
    whole = softmax_factor(factor, 0.05 * (a + a.mT) + 0.02 * (b + b.mT))
    assert_close(chained @ chained.mT, whole @ whole.mT, rtol=1e-12, atol=1e-14)
