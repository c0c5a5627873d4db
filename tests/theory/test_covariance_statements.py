"""What theory says of covariances, and runs that agree."""

import pytest
import torch
from checked_statements import checked, law, require_agreement, verdict
from covariance_equation import normal, one_head, positive, rotation

import vlasov as vl

pytestmark = pytest.mark.usefixtures("unchecked_types")

EYE = torch.eye(3, dtype=torch.float64)
EYE2 = EYE[:2, :2]
J = torch.tensor([[0.0, -1.0], [1.0, 0.0]], dtype=torch.float64)
FALLS, GROWS = "V = vI and v(A + A^T) <= 0", "V = vI and v(A + A^T) has a positive eigenvalue"
COMMUTES = "V symmetric and commuting with Sigma_0 and S"
LYAPUNOV = "V = V^T > 0 and A = A^T <= 0"
AT_REST = "V = vI, or V = V^T > 0 and A = A^T"


@pytest.mark.parametrize("attention", ["softmax", "l2", "sinkhorn:eps=0.7"])
def test_v_the_identity_and_negative_scores(attention):
    query = normal(2, 3, seed=1)
    pde = vl.TransformerPDE(attention, vl.Projections(query, -query, EYE))
    found = checked(pde, law(3, 2), until=3e3 if attention == "softmax" else 20.0)
    require_agreement(found)
    assert verdict(found, LYAPUNOV) == (True, "agreed")
    assert "of rank at most d - rank A = 1" in found[LYAPUNOV].statement.promises
    if attention == "softmax":
        assert verdict(found, FALLS) == (True, "agreed")
        assert "which has rank 1" in found[FALLS].statement.promises
        assert verdict(found, GROWS) == (False, "not checkable")
        assert verdict(found, COMMUTES) == (True, "agreed")


@pytest.mark.parametrize("seed", range(5))
def test_v_the_identity_and_a_score_that_grows(seed):
    pde, start = one_head("softmax", 0.8 * EYE, normal(3, 3, seed=seed)), law(3, seed)
    found = checked(pde, start, until=50.0)
    require_agreement(found)
    assert verdict(found, GROWS) == (True, "agreed")
    assert "blow-up at t = " in found[GROWS].found
    assert verdict(found, "norms of the maps") == (True, "agreed")
    assert found[AT_REST].verdict == "not checkable"


def test_commuting_maps_with_and_without_blow_up():
    u = rotation(3, 1)
    v, s = (u @ torch.diag(normal(3, seed=i).abs()) @ u.mT for i in (1, 2))
    for sign, until in ((-1.0, 5.0), (1.0, 50.0)):
        found = checked(one_head("softmax", v, sign * s @ s), vl.Gaussian([0.0] * 3, s), until)
        require_agreement(found)
        assert verdict(found, COMMUTES) == (True, "agreed")
        assert verdict(found, FALLS)[0] is False


@pytest.mark.parametrize("attention", ["softmax", "sinkhorn:eps=1.0"])
def test_positive_v_and_negative_a_without_commutation(attention):
    value, root = positive(3, 1) + 0.1 * EYE, normal(3, 2, seed=2)
    pde = one_head(attention, value, -root @ root.mT)
    found = checked(pde, law(3, 3), until=20.0)
    require_agreement(found)
    assert verdict(found, LYAPUNOV) == (True, "agreed")
    if attention == "softmax":
        assert verdict(found, COMMUTES)[0] is False


@pytest.mark.parametrize("seed", range(3))
def test_rank_at_rest_is_at_most_d_minus_the_signature(seed):
    """With V = I and indefinite A most starts blow up; isotropic ones rest, of the full rank."""
    u = rotation(4, seed)
    score = u @ torch.diag(torch.tensor([1.0, 1.0, -1.0, -1.0], dtype=torch.float64)) @ u.mT
    pde, line = one_head("softmax", torch.eye(4).double(), score), u[:, :2] + u[:, 2:]
    found = checked(pde, vl.Gaussian([0.0] * 4, line @ line.mT), until=1.0)
    require_agreement(found)
    assert verdict(found, AT_REST) == (True, "agreed")
    assert "at most d - max(p, q) = 2" in found[AT_REST].statement.promises
    assert found[AT_REST].found.startswith("rank 2")


def test_rotations_conserve_the_gap():
    found = checked(one_head("softmax", J, 0.5 * J), law(2, 1), until=4.0)
    require_agreement(found)
    name = "V and A are multiples of the rotation by a right angle"
    assert verdict(found, name) == (True, "agreed")
    tilted = checked(one_head("softmax", J, J + 0.1 * EYE2), law(2, 1), until=0.3)
    assert verdict(tilted, name) == (False, "not checkable")


def test_negative_s_is_said_to_be_no_promise():
    value = torch.tensor([[-1.0, -1.0], [1.0, 0.0]], dtype=torch.float64)
    score = torch.tensor([[-1.0, -1.0], [2.0, -1.0]], dtype=torch.float64)
    found = checked(one_head("softmax", value, score), vl.Gaussian([0.0, 0.0], EYE2), until=5.0)
    definite = found["S = VA + A^T V^T <= 0"]
    assert definite.statement.holds
    assert "eigenvalues of S from -3 to -1" in definite.statement.found
    assert "blows up at t = 1.374304" in definite.statement.promises
    assert definite.verdict == "not checkable"
    require_agreement(found)


def test_l2_with_injective_and_singular_keys():
    maps = vl.Projections.random(3, seed=1)
    found = checked(vl.TransformerPDE("l2", maps, beta=2.0), law(3, 2), until=1.0)
    require_agreement(found)
    assert verdict(found, "K injective") == (True, "agreed")
    singular = vl.Projections([[0.0, 1.0]], [[1.0, 0.0]], [[0.0, 0.0], [0.0, 1.0]])
    start = vl.Gaussian([0.0, 0.0], [[0.5, 0.4], [0.4, 1.0]])
    found = checked(vl.TransformerPDE("l2", singular), start, until=9.0)
    assert found["K injective"].statement.holds is False
    assert "can blow up in finite time" in found["K injective"].statement.promises
    require_agreement(found)


def test_a_cloud_does_not_blow_up_with_its_gaussian():
    start = vl.Cloud.gaussian(50, d=2, seed=1)
    found = checked(vl.TransformerPDE(), start, until=2.0)
    require_agreement(found)
    assert verdict(found, GROWS) == (True, "not checkable")
    assert "this is a cloud" in found[GROWS].found
    assert "never blow up, even where the Gaussian" in found["values bounded"].statement.promises


def test_linear_attention_promises_for_clouds_too():
    start = vl.Cloud.ball(20, 2, seed=2)
    grows = checked(vl.TransformerPDE("linear"), start, until=9.0)
    require_agreement(grows)
    assert verdict(grows, "bounded attention") == (False, "agreed")
    assert grows["bounded attention"].found.startswith("blow-up at t = ")
    pde = vl.TransformerPDE("linear", beta=-1.0)
    falls = checked(pde, start, until=2.0)
    require_agreement(falls)
    assert verdict(falls, FALLS) == (True, "agreed")
    assert "over" in falls[FALLS].found
