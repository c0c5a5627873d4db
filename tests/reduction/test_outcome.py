"""How runs end: each kind of outcome on an equation for which theory knows it."""

import math

import pytest
import torch
from covariance_equation import normal, one_head, positive
from torch.testing import assert_close

import vlasov as vl
from vlasov.errors import NotFinite, ShapeMismatch
from vlasov.reduction.classify import Rule
from vlasov.reduction.exact import exact, exact_blow_up_time, exact_limit
from vlasov.reduction.outcome import outcome, outcome_of
from vlasov.reduction.reduce import reduce

pytestmark = pytest.mark.usefixtures("unchecked_types")

EYE = torch.eye(3, dtype=torch.float64)
ONE = EYE[:1, :1]
J = torch.tensor([[0.0, -1.0], [1.0, 0.0]], dtype=torch.float64)
ZERO = torch.zeros(3, dtype=torch.float64)


@pytest.mark.parametrize("attention", ["softmax", "l2", "sinkhorn:eps=1.0"])
def test_a_line_of_limits(attention):
    query = normal(2, 3, seed=1)
    pde = vl.TransformerPDE(attention, vl.Projections(query, -query, EYE))
    law = vl.Gaussian(ZERO, positive(3, 2) + 0.2 * EYE)
    found = outcome_of(pde, reduce(pde, law, until=3e4))
    assert found.kinds == ("converged",)
    assert found.rank == 1
    assert_close(found.cov, exact_limit(pde, law), rtol=0.0, atol=1e-3)
    assert found.residual < 1e-6
    assert found.spectrum[0] > 0.99
    assert "converged to rank 1 (eigenvalues above 0.01 of its trace" in found.messages[0]


def test_convergence_to_zero_has_rank_zero():
    pde, law = one_head("softmax", EYE, -EYE), vl.Gaussian(ZERO, EYE)
    found = outcome_of(pde, reduce(pde, law, until=3e3))
    assert found.kinds == ("converged",)
    assert found.rank == 0


def test_golden_7_rotation_converges_to_rank_one():
    pde, law = one_head("softmax", J, J), vl.Gaussian(ZERO[:2], [[2.0, 0.3], [0.3, 0.5]])
    run = reduce(pde, law, until=20.0)
    gaps = torch.linalg.eigvalsh(run.cov).diff(dim=-1)[:, 0]
    assert_close(gaps, gaps[0].expand_as(gaps), rtol=1e-8, atol=0.0)
    found = outcome_of(pde, run)
    assert found.kinds == ("converged",)
    assert found.rank == 1
    assert_close(torch.linalg.eigvalsh(found.cov)[1], gaps[0], rtol=1e-8, atol=0.0)


def test_blow_up_although_s_is_negative():
    value = torch.tensor([[-1.0, -1.0], [1.0, 0.0]], dtype=torch.float64)
    score = torch.tensor([[-1.0, -1.0], [2.0, -1.0]], dtype=torch.float64)
    run = reduce(one_head("softmax", value, score), vl.Gaussian(ZERO[:2], EYE[:2, :2]), until=9.0)
    found = outcome_of(one_head("softmax", value, score), run)
    assert found.kinds == ("blow-up",)
    assert run.blow_up_time == pytest.approx(1.374304, abs=1e-6)
    assert "it blows up in finite time" in found.messages[0]


def test_l2_with_an_injective_key_diverges_exponentially():
    pde = one_head("l2", ONE, 2 * ONE, ONE)
    found = outcome_of(pde, reduce(pde, vl.Gaussian(0.0, 1.0), until=50.0))
    assert found.kinds == ("exponential divergence",)
    assert "without a blow-up" in found.messages[0]


def test_a_short_run_still_moves():
    pde = one_head("softmax", EYE, -EYE)
    found = outcome_of(pde, reduce(pde, vl.Gaussian(ZERO, EYE), until=1.0))
    assert found.kinds == ("still moving",)
    # Sigma = 1/(1 + 2t), Sigma' = -2 Sigma^2
    assert_close(found.figures.speed.item(), 2 / 9 * math.sqrt(3) / 3, rtol=1e-8, atol=0.0)
    assert_close(found.figures.growth.item(), 1 / 3, rtol=1e-8, atol=0.0)


def test_terms_and_noise_have_a_speed_but_no_residual():
    pde = vl.TransformerPDE(
        projections=vl.Projections(EYE, EYE, 0 * EYE),
        terms="decay:rate=0.5",
        noise="independent:diffusion=1.0",
    )
    found = outcome_of(pde, reduce(pde, vl.Gaussian(ZERO, 5 * EYE), until=40.0))
    assert found.kinds == ("converged",)
    assert_close(found.cov, 2 * EYE, rtol=1e-6, atol=1e-6)
    assert found.residual is None


def test_a_batch_has_one_kind_each():
    scores = torch.stack([EYE, -EYE, 0 * EYE, 1e-5 * EYE])[:, None]
    pde = vl.TransformerPDE(projections=vl.Projections(scores, EYE[None], EYE[None]))
    law = vl.Gaussian(ZERO.expand(4, 3), EYE.expand(4, 3, 3))
    found = outcome_of(pde, reduce(pde, law, until=3e3))
    assert found.kinds == ("blow-up", "converged", "converged", "still moving")
    assert found.rank.tolist()[1:] == [0, 3, 3]


@pytest.mark.parametrize(
    ("attention", "kind"), [("softmax", "blow-up"), ("l2", "exponential divergence")]
)
def test_passages_of_frames_tell_blow_up_from_growth(attention, kind):
    pde, law = one_head(attention, ONE, ONE), vl.Gaussian(0.0, 1.0)
    end = exact_blow_up_time(pde, law)
    if end is None:
        times = torch.linspace(0.0, 30.0, 400, dtype=torch.float64)
    else:
        times = end * (1 - torch.logspace(0, -9, 400, dtype=torch.float64))
    covs = exact(pde, law, times).cov
    found = outcome(times, covs, speed=torch.tensor(1.0, dtype=torch.float64))
    assert found.kinds == (kind,)
    first, second, third = found.figures.passages.flatten().tolist()
    ratio = (third - second) / (second - first)
    assert ratio == pytest.approx(0.01 if kind == "blow-up" else 1.0, rel=0.05)
    few = covs.flatten() < 1e7
    early = outcome(times[few], covs[few], speed=torch.tensor(1.0, dtype=torch.float64))
    assert early.kinds == ("diverged",)
    assert "too early to tell" in early.messages[0]


def test_thresholds_are_part_of_the_result():
    times = torch.tensor([0.0, 1.0], dtype=torch.float64)
    covs = torch.diag_embed(torch.tensor([[1.0, 1.0], [1.0, 0.04]], dtype=torch.float64))
    speed = torch.tensor(1e-3, dtype=torch.float64)
    loose = Rule(speed=1e-2, share=0.1)
    found = outcome(times, covs, speed=speed, rule=loose)
    assert (found.kinds, found.rank.item(), found.rule) == (("converged",), 1, loose)
    assert "relative speed 0.0005 < 0.01" in found.messages[0]
    default = outcome(times, covs, speed=speed)
    assert (default.kinds, default.rank.item()) == (("still moving",), 2)


def test_frames_after_the_end_of_a_system_are_left_out():
    times = torch.tensor([0.0, 1.0], dtype=torch.float64)
    covs = torch.tensor([[1.0, 1.0], [math.nan, 2.0]], dtype=torch.float64)[..., None, None]
    speed = torch.ones(2, dtype=torch.float64)
    found = outcome(times, covs, speed=speed, statuses=("blow-up", "finished"))
    assert found.cov.flatten().tolist() == [1.0, 2.0]
    assert found.kinds == ("blow-up", "still moving")
    with pytest.raises(NotFinite, match="a finite covariance but 1 have none"):
        outcome(times, torch.where(covs == 2, covs, math.nan), speed=speed)
    with pytest.raises(ShapeMismatch, match="2 systems came with 1"):
        outcome(times, covs, speed=speed, statuses=("finished",))
