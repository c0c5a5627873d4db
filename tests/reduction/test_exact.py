"""The door to closed forms: batches, times, and what it refuses."""

import math

import pytest
import torch
from covariance_equation import normal, one_head, positive
from torch.testing import assert_close

import vlasov as vl
from vlasov.errors import InvalidValue, NotConverged, NotFinite, ShapeMismatch, Unsupported
from vlasov.reduction.closed_forms import softmax_blow_up_time, softmax_factor, softmax_flow
from vlasov.reduction.exact import exact, exact_blow_up_time, exact_limit
from vlasov.reduction.modes import l2_log_mode

EYE = torch.eye(3, dtype=torch.float64)
ROTATED = torch.tensor([[0.0, -1.0], [1.0, 0.0]], dtype=torch.float64)
VARIANTS = ["softmax", "l2", "sinkhorn:eps=1.0", "sinkhorn:eps=0.3", "linear"]


@pytest.mark.parametrize("attention", VARIANTS)
def test_a_batch_is_its_members_and_times_broadcast(attention):
    key = normal(3, 3, seed=1) / 2
    pde = one_head(attention, EYE, -key.mT @ key, key)
    covs = torch.stack([positive(3, seed) for seed in range(5)])
    laws, t = vl.Gaussian(0.3 * normal(5, 3, seed=9), covs), torch.tensor([[0.0], [1.0]]).double()
    found = exact(pde, laws, t)
    assert found.cov.shape == (2, 5, 3, 3)
    assert_close(found.cov[0], covs)
    assert_close(found.mean[0], laws.mean)
    for i in range(5):
        alone = exact(pde, vl.Gaussian(laws.mean[i], covs[i]), 1.0)
        assert_close(found.cov[1, i], alone.cov, rtol=1e-10, atol=1e-12)
        assert_close(found.mean[1, i], alone.mean, rtol=1e-10, atol=1e-12)


def test_a_batch_has_one_blow_up_time_each():
    scores = torch.stack([EYE, -EYE, 2 * EYE])[:, None]
    maps = vl.Projections(scores, EYE[None], EYE[None])
    times = exact_blow_up_time(vl.TransformerPDE(projections=maps), vl.Gaussian([0.0] * 3, EYE))
    assert times.tolist() == [0.5, math.inf, 0.25]


@pytest.mark.parametrize("attention", ["softmax", "linear"])
def test_a_time_past_the_blow_up_is_refused_by_name(attention):
    law, pde = vl.Gaussian([0.0, 0.0, 0.0], EYE), one_head(attention, EYE, 0.5 * EYE)
    for t in (1.0, torch.tensor([0.5, 1.5]).double()):
        with pytest.raises(InvalidValue, match=r"ends at t\* = 1; ask"):
            exact(pde, law, t)
    line = vl.Gaussian([0.0, 0.0], [[4.0, 0.0], [0.0, 0.0]])
    with pytest.raises(InvalidValue, match=r"ends at t\* = 0.125; ask"):
        exact(one_head(attention, ROTATED + EYE[:2, :2], EYE[:2, :2]), line, 1.0)
    with pytest.raises(InvalidValue, match="below 1 but the largest is 2"):
        softmax_factor(EYE, 2 * EYE)
    assert softmax_blow_up_time(EYE, -EYE) == math.inf


def test_no_limit_where_something_grows():
    law = vl.Gaussian([0.0, 0.0, 0.0], EYE)
    for attention in ("softmax", "l2", "sinkhorn"):
        with pytest.raises(InvalidValue, match="no eigenvalue grows but one does"):
            exact_limit(one_head(attention, EYE, EYE), law)


def test_equations_without_a_closed_form_are_refused_with_the_reason():
    law = vl.Gaussian([0.0, 0.0, 0.0], positive(3, 1))
    value, score = normal(3, 3, seed=2), normal(3, 3, seed=3)
    with pytest.raises(Unsupported, match=r"V - V\^T by .*, V S - S V by"):
        exact(one_head("softmax", value, score), law, 0.1)
    with pytest.raises(Unsupported, match=r"miss in relative size: A - A\^T by"):
        exact(one_head("l2", EYE, score), law, 0.1)
    with pytest.raises(Unsupported, match="centre the law"):
        exact(one_head("softmax", EYE, score), vl.Gaussian([1.0, 0.0, 0.0], law.cov), 0.1)
    with pytest.raises(Unsupported, match="does not keep Gaussians Gaussian"):
        exact(vl.TransformerPDE("sigmoid"), law, 0.1)
    with pytest.raises(Unsupported, match="one head but the equation has 2"):
        exact(vl.TransformerPDE(projections=vl.Projections.identity(3, heads=2)), law, 0.1)
    with pytest.raises(Unsupported, match="beta >= 0"):
        exact(vl.TransformerPDE("l2", beta=-1.0), law, 0.1)
    with pytest.raises(Unsupported, match="the mask 'causal'"):
        exact(vl.TransformerPDE(mask="causal"), law, 0.1)
    with pytest.raises(Unsupported, match="the term 'decay'"):
        exact(vl.TransformerPDE(terms="decay"), law, 0.1)


def test_pure_functions_refuse_what_has_no_value():
    one = EYE[:1, :1]
    with pytest.raises(InvalidValue, match="2 t lambda_max"):
        softmax_flow(one, one, torch.tensor(0.5, dtype=torch.float64))
    with pytest.raises(NotConverged, match="check that times and maps are finite"):
        l2_log_mode(math.inf * one, one, one, one)
    with pytest.raises(ShapeMismatch, match="width 2 but the law has width 3"):
        exact(
            vl.TransformerPDE(projections=vl.Projections.identity(2)),
            vl.Gaussian([0.0] * 3, EYE),
            0.1,
        )
    mixture = vl.TransformerPDE("softmax+l2", vl.Projections.identity(3))
    with pytest.raises(ShapeMismatch, match="2 members but the projections have 1 heads"):
        exact(mixture, vl.Gaussian([0.0] * 3, EYE), 0.1)
    with pytest.raises(NotFinite, match="The time must be finite"):
        exact(vl.TransformerPDE(), vl.Gaussian([0.0] * 3, EYE), math.nan)
    assert math.isinf(
        exact_blow_up_time(vl.TransformerPDE(beta=0.0), vl.Gaussian([[0.0]], [[[1.0]]]))
    )
