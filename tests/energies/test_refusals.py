"""Equations without an energy are refused by name, with the condition that fails."""

import pytest
import torch

from vlasov.cloud import Cloud
from vlasov.energies import energy
from vlasov.errors import InvalidValue, NotFinite, NotOnGeometry, ShapeMismatch, Unsupported
from vlasov.pde import LinearTerm, TransformerPDE
from vlasov.projections import LayeredProjections, Projections

EYE = torch.eye(2, dtype=torch.float64)
SKEW = torch.tensor([[0.0, -1.0], [1.0, 0.0]], dtype=torch.float64)
TILTED = EYE + 0.5 * SKEW
LONG = torch.diag(torch.tensor([1.0, 2.0], dtype=torch.float64))
PLANE = Cloud.gaussian(5, d=2)
CIRCLE = Cloud.sphere(5, 2)

EQUATIONS = {
    "the mask 'causal'": TransformerPDE(mask="causal"),
    "the noise 'independent'": TransformerPDE(noise="independent"),
    "parameters along depth": TransformerPDE(
        projections=LayeredProjections((Projections.identity(2), Projections.identity(2)))
    ),
    "parameters along depth; freeze": TransformerPDE(
        projections=Projections(lambda t: EYE, EYE, EYE)
    ),
    "a query_bias": TransformerPDE(
        projections=Projections(EYE, EYE, EYE, query_bias=torch.ones(2).double())
    ),
    "the attention 'hardmax'": TransformerPDE("hardmax"),
    "2 heads, one of them 'softmax'": TransformerPDE(projections=Projections.identity(2, heads=2)),
    "the term 'decay'": TransformerPDE(terms="decay"),
    "the term 'momentum'": TransformerPDE(terms="momentum"),
    "L2 attention but without the drift": TransformerPDE("l2"),
    "A = 0 in head 0": TransformerPDE(beta=0.0),
    r"\|A - A\^T\| is 0.894 of \|A\|": TransformerPDE(
        projections=Projections(TILTED, EYE, TILTED)
    ),
    "a share 1 of V is left over": TransformerPDE(
        projections=Projections([[1.0, 0.0]], [[1.0, 0.0]], [[0.0, 0.0], [0.0, 1.0]])
    ),
    "also the drift -sigma B N x": TransformerPDE("l2", terms="decay:rate=2"),
    "a symmetric B": TransformerPDE(projections=Projections(EYE, EYE, TILTED)),
    "B has eigenvalues from -1 to 2": TransformerPDE(
        projections=Projections(EYE, EYE, torch.diag(torch.tensor([2.0, -1.0])).double())
    ),
    "B has eigenvalues from 0 to 1": TransformerPDE(
        projections=Projections(EYE, EYE, torch.diag(torch.tensor([1.0, 0.0])).double())
    ),
    "one B for all heads": TransformerPDE(
        "linear",
        projections=Projections(EYE, EYE, torch.stack([EYE, LONG])),
    ),
}

ON_THE_CIRCLE = {
    "V = sigma b A with a number b": TransformerPDE(
        geometry="sphere", projections=Projections(EYE, EYE, LONG)
    ),
    "b > 0 in V = sigma b A": TransformerPDE(
        geometry="sphere", projections=Projections(EYE, EYE, 0 * EYE)
    ),
    "L2 attention with an N": TransformerPDE(
        "l2", geometry="sphere", projections=Projections(EYE, LONG, LONG)
    ),
    "a linear term that is no multiple": TransformerPDE(geometry="sphere", terms=LinearTerm(LONG)),
}


@pytest.mark.parametrize("reason", list(EQUATIONS))
def test_an_equation_is_refused_for(reason):
    with pytest.raises(Unsupported, match=reason):
        energy(EQUATIONS[reason], PLANE)


@pytest.mark.parametrize("reason", list(ON_THE_CIRCLE))
def test_an_equation_on_the_sphere_is_refused_for(reason):
    with pytest.raises(Unsupported, match=reason):
        energy(ON_THE_CIRCLE[reason], CIRCLE)


def test_zero_biases_are_no_reason():
    maps = Projections(EYE, EYE, EYE, value_bias=torch.zeros(2).double())
    assert energy(TransformerPDE(projections=maps), PLANE) < 0


def test_a_cloud_off_the_geometry_is_refused():
    with pytest.raises(NotOnGeometry):
        energy(TransformerPDE(geometry="sphere"), PLANE)


def test_a_mixture_needs_one_head_for_each_member():
    with pytest.raises(ShapeMismatch, match="2 members but the projections have 1 heads"):
        energy(TransformerPDE("linear+sigmoid"), PLANE)


@pytest.mark.usefixtures("unchecked_types")
def test_an_energy_beyond_the_largest_number_is_no_result():
    with pytest.raises(NotFinite, match="scores of hundreds"):
        energy(TransformerPDE(beta=1000.0), Cloud.sphere(5, 3, seed=0))
    with pytest.raises(InvalidValue, match="Cloud or a Gaussian but got list"):
        energy(TransformerPDE(), [[0.0, 1.0]])
