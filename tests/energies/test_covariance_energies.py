"""Covariances under attention are Bures-Wasserstein gradient flows of the energies of spec 3.1."""

import pytest
import torch
from covariance_equation import normal, positive
from torch.testing import assert_close

import vlasov as vl
from vlasov.energies import covariance_energy, covariance_velocity
from vlasov.energies.covariance import covariance_preconditioner
from vlasov.errors import NotFinite, Unsupported

EYE = torch.eye(3, dtype=torch.float64)
VARIANTS = ["softmax", "linear", "sinkhorn:eps=0.6", "l2"]
signs = pytest.mark.parametrize("sigma", [1.0, -1.0], ids=["up", "down"])


def equation(attention: str, sigma: float, seed: int) -> vl.TransformerPDE:
    """A symmetric, a multiple of N for l2, and V = sigma B A."""
    key = EYE + normal(3, 3, seed=seed) / 3
    a = normal(3, 3, seed=seed + 1) / 3
    a = -1.5 * key.mT @ key if attention == "l2" else a + a.mT
    b = positive(3, seed=seed + 2) + EYE / 2
    maps = vl.Projections(torch.linalg.solve(key.mT, a) / 0.7, key, sigma * b @ a)
    return vl.TransformerPDE(attention, maps, beta=0.7)


def velocity_of_covariance(pde: vl.TransformerPDE, law: vl.Gaussian) -> torch.Tensor:
    """Sigma' = G Sigma + Sigma G^T with G of the reduction."""
    field = pde.gaussian_field(law)
    moved = field(0.0, field.initial(0.0))[..., :-1] @ law.cov
    return moved + moved.mT


@signs
@pytest.mark.parametrize("attention", VARIANTS)
@pytest.mark.parametrize("seed", [0, 10])
@pytest.mark.parametrize("rank", [1, 3])
def test_covariances_descend_their_energy(attention, sigma, seed, rank):
    pde = equation(attention, sigma, seed)
    law = vl.Gaussian(torch.zeros(3).double(), positive(3, seed=seed + 3, rank=rank))
    assert_close(covariance_velocity(pde, law), velocity_of_covariance(pde, law))


@signs
def test_heads_of_softmax_descend_the_sum_of_their_energies(sigma):
    first, second = (equation("softmax", s, 0).projections for s in (sigma, -sigma))
    other = vl.Projections(0.3 * second.query.mT @ second.query, EYE, second.value)
    b = equation("softmax", 1.0, 0).projections.value @ torch.linalg.inv(
        0.7 * first.key.mT @ first.query
    )
    other = vl.Projections(other.query, EYE, -sigma * b @ (0.7 * other.query))
    pde = vl.TransformerPDE("softmax", vl.Projections.stack([first, other]), beta=0.7)
    law = vl.Gaussian([0.2, 0.0, 0.1], positive(3, seed=3))
    assert_close(covariance_velocity(pde, law), velocity_of_covariance(pde, law))


def test_the_preconditioner_is_read_off_where_a_acts_and_positive_elsewhere():
    b, row = positive(3, seed=1) + EYE, normal(1, 3, seed=2)
    pde = vl.TransformerPDE("linear", vl.Projections(row, row, b @ row.mT @ row))
    law = vl.Gaussian([0.0, 0.0, 0.0], positive(3, seed=4))
    found = covariance_preconditioner(pde, law)
    assert_close(found @ row[0], b @ row[0])
    assert_close(found, found.mT)
    assert bool((torch.linalg.eigvalsh(found) > 0).all())
    assert_close(covariance_velocity(pde, law), velocity_of_covariance(pde, law))


def test_energies_fall_along_a_reduction():
    pde = equation("sinkhorn", -1.0, 0)
    run = vl.reduce(pde, vl.Gaussian([0.0, 0.0, 0.0], EYE), until=2.0, frames=11)
    laws = vl.Gaussian(run.mean, run.cov)
    assert bool((covariance_energy(pde, laws).diff() < 0).all())


LAW = vl.Gaussian([0.0, 0.0, 0.0], EYE)
TILTED = EYE + torch.diag(torch.tensor([1.0, 0.0, 0.0]).double())


@pytest.mark.parametrize(
    ("pde", "law", "reason"),
    [
        (vl.TransformerPDE("sigmoid"), LAW, "'sigmoid' on covariances"),
        (vl.TransformerPDE("l2", terms="decay"), LAW, "the term 'decay'"),
        (
            vl.TransformerPDE("l2", vl.Projections(TILTED, EYE, TILTED)),
            LAW,
            "no multiple of N = beta K\\^T K \\(by 0.3",
        ),
        (
            vl.TransformerPDE("linear"),
            vl.Gaussian([3.0, 0.0, 4.0], EYE),
            "about a mean of size 5",
        ),
        (vl.TransformerPDE(geometry="sphere"), LAW, "flat space"),
    ],
    ids=["sigmoid", "drift", "l2", "mean", "sphere"],
)
def test_covariances_without_an_energy_are_refused(pde, law, reason):
    with pytest.raises(Unsupported, match=reason):
        covariance_energy(pde, law)


def test_l2_covariances_beyond_the_field_have_no_energy():
    with pytest.raises(NotFinite, match="beta = -1 breaks"):
        covariance_energy(vl.TransformerPDE("l2", beta=-1.0), LAW)
