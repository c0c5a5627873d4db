"""What theory says of supports and maps, and runs that agree or do not."""

import dataclasses
import math

import pytest
import torch
from checked_statements import checked, law, named, require_agreement, verdict

import vlasov as vl
from vlasov.errors import InvalidValue, ShapeMismatch
from vlasov.reduction.reduce import reduce
from vlasov.theory import Checked, check, statements

pytestmark = pytest.mark.usefixtures("unchecked_types")

EYE = torch.eye(3, dtype=torch.float64)
EYE2 = EYE[:2, :2]
J = torch.tensor([[0.0, -1.0], [1.0, 0.0]], dtype=torch.float64)
FALLS, GROWS = "V = vI and v(A + A^T) <= 0", "V = vI and v(A + A^T) has a positive eigenvalue"
LYAPUNOV = "V = V^T > 0 and A = A^T <= 0"
COLUMNS, CONTRACTS = "Sinkhorn: columns sum to one", "Sinkhorn: conditional means contract"


@pytest.mark.parametrize("heads", [1, 2])
def test_sinkhorn_mean_and_second_moment(heads):
    pde = vl.TransformerPDE(
        "sinkhorn:eps=0.5", vl.Projections.random(2, heads=heads, seed=3, scale=0.5)
    )
    for start in (law(2, 1, mean=1.0), vl.Cloud.gaussian(8, d=2, seed=4)):
        found = checked(pde, start, until=0.4)
        require_agreement(found)
        assert verdict(found, COLUMNS) == (True, "agreed")
        assert verdict(found, CONTRACTS) == (True, "agreed")
        assert verdict(found, "compact support")[0] is isinstance(start, vl.Cloud)


@pytest.mark.parametrize("attention", ["softmax", "l2", "sigmoid", "softmax+sinkhorn"])
def test_clouds_stay_within_their_radius(attention):
    maps = vl.Projections.random(2, heads=attention.count("+") + 1, seed=3, scale=0.5)
    found = checked(vl.TransformerPDE(attention, maps), vl.Cloud.ball(20, 2, seed=1), until=1.0)
    require_agreement(found)
    assert verdict(found, "compact support") == (True, "agreed")
    assert verdict(found, "values bounded") == (True, "agreed")
    assert found["stability"].statement.holds


def test_energy_falls_where_there_is_one():
    start = vl.Cloud.gaussian(15, d=2, seed=1)
    symmetric = vl.TransformerPDE(projections=vl.Projections(EYE2, -EYE2, -EYE2))
    found = checked(symmetric, start, until=1.0)
    require_agreement(found)
    assert verdict(found, "V = sigma B A") == (True, "agreed")
    assert verdict(found, "A symmetric")[0] is True
    tilted = vl.TransformerPDE(projections=vl.Projections(EYE2 + J, EYE2, EYE2))
    found = named(statements(tilted, start))
    assert found["A symmetric"].holds is False
    assert found["V = sigma B A"].holds is False
    assert "needs a symmetric A" in found["V = sigma B A"].found


def test_masks_report_their_atom():
    start = vl.Cloud.gaussian(10, d=2, seed=1).with_positions([0.0] * 3 + [0.5] * 7)
    found = checked(vl.TransformerPDE(mask="causal"), start, until=0.5)
    require_agreement(found)
    atom = found["atom at the first position"].statement
    assert (atom.holds, atom.found) == (True, "the first position has mass 0.3")
    ordered = named(statements(vl.TransformerPDE(mask="causal"), vl.Cloud.gaussian(10, d=2)))
    assert ordered["atom at the first position"].found == "the first position has mass 0.1"
    assert GROWS not in ordered


def test_equations_with_more_than_maps_say_so():
    start = vl.Cloud.gaussian(5, d=2)
    for parts, what in (
        ({"terms": "decay"}, "the term 'decay'"),
        ({"noise": "independent"}, "the noise 'independent'"),
    ):
        bare = statements(vl.TransformerPDE(**parts), start)[0]
        assert (bare.holds, bare.found) == (False, f"the equation has {what}")
    sphere = statements(vl.TransformerPDE(geometry="sphere"), vl.Cloud.sphere(5, 2))
    assert named(sphere)["V = sigma B A"].holds
    assert check(sphere[0], vl.simulate(vl.TransformerPDE(), start, until=0.1)) == Checked(
        sphere[0], "not checkable", "the hypothesis does not hold"
    )


def test_a_run_of_another_equation_violates():
    start, until = law(2, 1, mean=1.0), 0.2
    promised = named(statements(vl.TransformerPDE("sinkhorn:eps=0.5"), start))[COLUMNS]
    other = check(promised, reduce(vl.TransformerPDE("sinkhorn"), start, until=until, frames=3))
    assert other.verdict == "violated"
    assert "the mean is off by" in other.found
    blown = reduce(vl.TransformerPDE(), start, until=9.0, frames=3)
    for statement in statements(vl.TransformerPDE("sinkhorn"), start):
        if statement.name == CONTRACTS:
            assert check(statement, blown).verdict == "violated"
    falls = named(statements(vl.TransformerPDE(beta=-1.0), start))
    for name in (FALLS, LYAPUNOV):
        assert check(falls[name], blown).verdict == "violated"
    quick = named(statements(vl.TransformerPDE(), start))[GROWS]
    assert (
        check(quick, reduce(vl.TransformerPDE(beta=2.0), start, until=9.0)).verdict == "violated"
    )


def test_batches_and_times_out_of_range_are_refused():
    one = law(2, 1)
    many = vl.Gaussian(torch.stack([one.mean] * 2), torch.stack([one.cov] * 2))
    with pytest.raises(ShapeMismatch, match=r"one law but got a batch of shape \(2,\)"):
        statements(vl.TransformerPDE(), many)
    with pytest.raises(InvalidValue, match="finite time above 0"):
        statements(vl.TransformerPDE(), one, until=math.inf)
    statement = statements(vl.TransformerPDE(), vl.Cloud.gaussian(3, d=2))[1]
    with pytest.raises(ShapeMismatch, match="run of one law but this one is of a batch"):
        check(statement, reduce(vl.TransformerPDE(), many, until=0.1))
    maps = vl.Projections(EYE2[None, None], EYE2[None, None], EYE2[None, None])
    with pytest.raises(ShapeMismatch, match="these have batch axes"):
        statements(vl.TransformerPDE(projections=maps), one)


def test_what_cannot_be_compared_says_why():
    cloud, reduced = vl.Cloud.gaussian(6, d=2), reduce(vl.TransformerPDE(), law(2, 1), until=0.1)
    found = named(statements(vl.TransformerPDE(), cloud))
    radius = check(found["values bounded"], reduced)
    assert (radius.verdict, radius.found) == ("not checkable", "a Gaussian law has no radius")
    assert "evaluated on clouds" in check(found["V = sigma B A"], reduced).found
    far = vl.simulate(vl.TransformerPDE(), cloud, until=6.0, step=0.5)
    assert "range of numbers" in check(found["V = sigma B A"], far).found
    once = vl.simulate(vl.TransformerPDE(), cloud, until=0.1, keep="last")
    assert check(found["V = sigma B A"], once).found == "the run has one frame"
    broken = dataclasses.replace(far, points=far.points * math.nan)
    assert "range of numbers" in check(found["values bounded"], broken).found
    many = vl.Cloud.gaussian(20_000, d=2)
    run = vl.Run(
        torch.zeros(3).double(),
        many.points.expand(3, -1, -1),
        torch.zeros(3).double(),
        many.log_weights,
        None,
        "finished",
        "",
        0.0,
    )
    assert "20000 tokens: observe 'energy'" in check(found["V = sigma B A"], run).found


@pytest.mark.parametrize(
    ("pde", "why"),
    [
        (vl.TransformerPDE("sinkhorn"), "Sinkhorn potentials have no explicit constant"),
        (vl.TransformerPDE(mask="window:width=2"), "no constant under the mask 'window'"),
        (vl.TransformerPDE("l2", beta=-1.0), "no constant for L2 attention with beta < 0"),
    ],
)
def test_stability_without_an_explicit_constant(pde, why):
    stability = named(statements(pde, vl.Cloud.ball(5, 2)))["stability"]
    assert (stability.holds, stability.found) == (True, why)


def test_promises_of_other_equations_are_violated():
    start = law(2, 1)
    slow = reduce(vl.TransformerPDE(beta=-1.0), start, until=9.0, frames=3)
    blown = reduce(vl.TransformerPDE(), start, until=9.0, frames=3)
    grows = named(statements(vl.TransformerPDE(), start))[GROWS]
    assert check(grows, slow).found == "no blow-up met up to t = 9"
    injective = named(statements(vl.TransformerPDE("l2"), start))["K injective"]
    assert check(injective, blown).verdict == "violated"
