"""When covariances blow up, that others only diverge, and that neighbours are left alone."""

import math

import pytest
import torch

import vlasov as vl
from vlasov.errors import InvalidValue

pytestmark = pytest.mark.usefixtures("unchecked_types")

D = torch.float64
EYE = torch.eye(2, dtype=D)
COUNTER = [[-1.0, -1.0], [2.0, -1.0]], [[-1.0, -1.0], [1.0, 0.0]]
"""A and V with V A + (V A)^T negative definite, and yet a blow-up."""


def draws(count, d=2, seed=0):
    """Random scores and covariances."""
    generator = torch.Generator().manual_seed(seed)
    a, root = torch.randn(2, count, d, d, generator=generator, dtype=D)
    return a, root @ root.mT


def softmax(score, value=EYE, **choices):
    maps = vl.Projections(score, torch.eye(len(value), dtype=D), value)
    return vl.TransformerPDE(projections=maps, **choices)


def line(attention="softmax", *, score=1.0, value=1.0):
    maps = vl.Projections([[score]], [[1.0]], [[value]])
    return vl.TransformerPDE(attention, maps)


def test_the_time_of_200_draws_with_v_the_identity():
    a, cov = draws(200)
    factor = torch.linalg.cholesky(cov)
    fastest = torch.linalg.eigvalsh(factor.mT @ (a + a.mT) @ factor)[:, -1]
    wanted = torch.where(fastest > 0, 1 / fastest, torch.inf)
    run = vl.reduce(softmax(a[:, None]), vl.Gaussian(torch.zeros(200, 2), cov), until=20.0)
    blown = wanted < 20.0
    assert 100 < int(blown.sum()) < 190
    torch.testing.assert_close(run.blow_up_time[blown], wanted[blown], rtol=1e-7, atol=0)
    assert torch.isinf(run.blow_up_time[~blown]).all()
    kinds = ["blow-up" if one else "finished" for one in blown]
    assert list(run.member_status) == kinds
    assert run.message == f"Of 200 systems: {kinds.count('blow-up')} blow-up, " + (
        f"{kinds.count('finished')} finished."
    )


def test_golden_blow_up_on_the_line():
    run = vl.reduce(line(score=0.7, value=1.3), vl.Gaussian(0.0, 0.8), until=1.0, frames=5)
    assert run.status == "blow-up"
    assert run.blow_up_time == pytest.approx(0.6868131868, rel=1e-9)
    assert "tends to 0.686813186" in run.message
    assert torch.isfinite(run.cov).all()
    with pytest.raises(InvalidValue, match=r"blow-up at t\* = 0\.68681318\d+ but"):
        run.at(0.8)


def test_negative_definite_s_is_no_shelter():
    a, v = (torch.tensor(one, dtype=D) for one in COUNTER)
    assert torch.linalg.eigvalsh(v @ a + (v @ a).T).tolist() == pytest.approx([-3, -1])
    run = vl.reduce(softmax(a, v), vl.Gaussian([0.0, 0.0], EYE), until=5.0, frames=2)
    assert run.blow_up_time == pytest.approx(1.374304, abs=5e-7)


def singular_key(delta):
    maps = vl.Projections([[0.0, 1.0], [0.0, 0.0]], [[1.0, 0.0], [0.0, delta]], torch.diag(EYE[1]))
    return vl.TransformerPDE("l2", maps)


L2_START = [[0.5, 0.4], [0.4, 1.0]]


def test_l2_blows_up_where_keys_are_blind():
    """Sigma_22 grows like the inverse square of the time left."""
    run = vl.reduce(singular_key(0.0), vl.Gaussian([0.0, 0.0], L2_START), until=4.0, frames=2)
    assert run.status == "blow-up"
    assert run.blow_up_time == pytest.approx(2.5, rel=1e-7)


@pytest.mark.parametrize(("delta", "trace"), [(0.3, 448), (0.1, 3.2e4), (0.03, 3.9e6)])
def test_l2_with_injective_keys_only_grows(delta, trace):
    law = vl.Gaussian([0.0, 0.0], L2_START)
    run = vl.reduce(singular_key(delta), law, until=10.0, frames=2)
    assert run.status == "finished"
    assert run.cov[-1].trace().item() == pytest.approx(trace, rel=0.02)
    # The trace passes 1e2, 1e3 and 1e4 as if it blew up: what is known of the keys decides.
    early = vl.reduce(singular_key(delta), law, until=10.0, frames=2, threshold=trace / 10)
    assert early.status == "exponential"
    assert early.blow_up_time is None


@pytest.mark.parametrize("attention", ["sinkhorn", "l2", "sinkhorn+l2"])
def test_growth_that_theory_bounds_is_exponential(attention):
    heads = 2 if "+" in attention else 1
    pde = vl.TransformerPDE(attention, vl.Projections.identity(2, heads=heads))
    run = vl.reduce(pde, vl.Gaussian([0.0, 0.0], L2_START), until=40.0, frames=2)
    assert run.status == "exponential"
    assert "diverges without a blow-up" in run.message
    with pytest.raises(InvalidValue, match="Raise `threshold`"):
        run.at(30.0)


def test_growth_at_a_steady_rate_is_no_blow_up_for_softmax_either():
    """A = e1 e1^T, V = diag(0, 1): Sigma_12' = Sigma_11 Sigma_12 with Sigma_11 constant."""
    run = vl.reduce(
        softmax(torch.diag(EYE[0]), torch.diag(EYE[1])),
        vl.Gaussian([0.0, 0.0], L2_START),
        until=100.0,
        frames=2,
    )
    assert run.status == "exponential"
    wanted = 0.4**2 * math.exp(2 * 0.5 * run.member_stopped_at[0]) / 0.5
    assert run.final.cov[1, 1].item() == pytest.approx(wanted, rel=1e-6)


def test_a_token_alone_blows_up_under_linear_attention():
    run = vl.reduce(line("linear"), vl.Gaussian(0.7, 0.0), until=2.0, frames=2)
    assert run.status == "blow-up"
    assert run.blow_up_time == pytest.approx(1.020408163, rel=1e-8)


def test_l2_of_negative_temperature_ends_where_its_integral_does():
    """Rate s' = 4 beta s^2/(1 + 2 beta s) with the rate negated by V: the law widens to s = 1."""
    pde = vl.TransformerPDE("l2", vl.Projections([[1.0]], [[1.0]], [[-1.0]]), beta=-0.5)
    run = vl.reduce(pde, vl.Gaussian(0.0, 0.5), until=10.0, frames=2)
    assert run.status == "blow-up"
    # -1/s - log s grows by 2 t from s = 1/2 to the end of the domain, s = 1.
    assert run.blow_up_time == pytest.approx((1 - math.log(2)) / 2, rel=1e-7)


def test_a_blow_up_backwards_in_time():
    run = vl.reduce(line(score=-1.0), vl.Gaussian(0.0, 1.0), start=1.0, until=-1.0, frames=2)
    assert run.blow_up_time == pytest.approx(0.5, rel=1e-9)


def batch_of(attention, a, cov):
    maps = vl.Projections(a[:, None], EYE, EYE)
    law = vl.Gaussian(a[:, 0], cov)
    return vl.reduce(vl.TransformerPDE(attention, maps), law, until=1.0, threshold=1e4)


@pytest.mark.parametrize("attention", ["softmax", "l2", "sinkhorn", "linear"])
def test_a_system_in_a_batch_is_that_system_alone(attention):
    a, cov = draws(5, seed=3)
    together = batch_of(attention, a, cov)
    assert attention in {"l2", "sinkhorn"} or "blow-up" in together.member_status
    for i in range(5):
        alone = batch_of(attention, a[i : i + 1], cov[i : i + 1])
        assert alone.member_status == together.member_status[i : i + 1]
        # The powers of the step control differ in the last bit between vector lanes.
        for found, wanted in (
            (alone.blow_up_time[0], together.blow_up_time[i]),
            (alone.final.cov[0], together.final.cov[i]),
            (alone.final.mean[0], together.final.mean[i]),
        ):
            torch.testing.assert_close(found, wanted, rtol=1e-9, atol=1e-12)


def test_a_blow_up_leaves_its_neighbours_alone_bit_for_bit():
    a, cov = draws(5, seed=3)
    calm = -a @ a.mT / 4
    wild = calm.clone()
    wild[2] = -3 * calm[2]
    quiet, loud = (batch_of("softmax", one, cov) for one in (calm, wild))
    assert quiet.status == "finished"
    assert loud.member_status == ("finished", "finished", "blow-up", "finished", "finished")
    for i in (0, 1, 3, 4):
        assert torch.equal(quiet.cov[-1, i], loud.cov[-1, i])
        assert torch.equal(quiet.flow[-1, i], loud.flow[-1, i])


def test_many_systems_are_cut_into_blocks_that_change_nothing(monkeypatch):
    a, cov = draws(12, seed=4)
    law = vl.Gaussian(a[:, 0].reshape(3, 4, 2), cov.reshape(3, 4, 2, 2))
    pde = softmax(a.reshape(3, 4, 1, 2, 2) / 4)
    whole = vl.reduce(pde, law, until=1.0, frames=3, threshold=1e3)
    monkeypatch.setattr("vlasov.reduction.systems._NUMBERS", 30)
    monkeypatch.setattr("vlasov.reduction.part._FEW", 1)
    cut = vl.reduce(pde, law, until=1.0, frames=3, threshold=1e3)
    assert whole.status == "blow-up"
    for name in ("times", "mean", "cov", "flow", "blow_up_time"):
        torch.testing.assert_close(
            getattr(cut, name), getattr(whole, name), rtol=0, atol=0, equal_nan=True
        )
    assert cut.member_status == whole.member_status
    assert cut.mean.shape == (3, 3, 4, 2)


def test_frames_after_a_blow_up_are_nan_and_those_of_the_neighbour_are_not():
    law = vl.Gaussian(torch.zeros(2, 1), torch.tensor([[[1.0]], [[0.1]]], dtype=D))
    run = vl.reduce(line(), law, until=1.0, frames=11)
    assert run.status == "blow-up"
    assert torch.isnan(run.cov[6:, 0]).all()
    torch.testing.assert_close(run.cov[:, 1, 0, 0], 0.1 / (1 - 0.2 * run.times), rtol=1e-9, atol=0)
    assert run.blow_up_time.tolist() == [pytest.approx(0.5, rel=1e-9), math.inf]


def test_fixed_steps_tell_a_blow_up_to_a_step():
    run = vl.reduce(line(), vl.Gaussian(0.0, 1.0), until=1.0, step=0.001)
    assert run.status == "blow-up"
    assert run.blow_up_time == pytest.approx(0.5, abs=0.01)


@pytest.mark.slow
def test_a_mean_beyond_the_number_format_is_no_blow_up_of_the_covariance():
    query = torch.tensor([[1.0, 0.0]], dtype=torch.float64)
    maps = vl.Projections(query=query, key=-query, value=torch.eye(2, dtype=torch.float64))
    law = vl.Gaussian([0.3, 0.1], [[1.0, 0.2], [0.2, 0.5]])
    run = vl.reduce(vl.TransformerPDE("softmax", maps), law, until=1000.0)
    assert run.status == "overflow"
    assert run.blow_up_time is None
    assert "mean" in run.message
    assert vl.reduce(vl.TransformerPDE("softmax", maps), law, until=400.0).status == "finished"


@pytest.mark.parametrize("until", [1.0, 1e16, 1e20, 1e300])
def test_a_blow_up_is_located_however_far_the_end_is(until):
    law = vl.Gaussian([0.0, 0.0], [[1.0, 0.2], [0.2, 0.5]])
    run = vl.reduce(vl.TransformerPDE(), law, until=until)
    assert run.blow_up_time == pytest.approx(0.467221508911, rel=1e-8)
