"""The twisted metric: dissipation, preconditioners, the recipes of non-convexity, refusals."""

import math

import pytest
import torch
from twisted_laws import DOUBLE, equation, weighted_cloud

from vlasov.cloud import Cloud
from vlasov.energies import dissipation, energy
from vlasov.errors import NotFinite, NotPositive, ShapeMismatch, Unsupported
from vlasov.pde import TransformerPDE, velocity
from vlasov.projections import Projections
from vlasov.solve import simulate
from vlasov.transport.twisted_metric import TwistedMetric, twisted_metric

pytestmark = pytest.mark.usefixtures("unchecked_types")


REPELLED = equation([[-1.0]], [[1.0]])


def test_the_squared_speed_of_the_flow_is_its_dissipation(generator):
    a = torch.tensor([[0.5, 0.2], [0.2, -0.4]], dtype=DOUBLE)
    b = torch.tensor([[1.0, 0.3], [0.3, 2.0]], dtype=DOUBLE)
    pde, cloud = equation(a, -b @ a), weighted_cloud(20, 2, generator)
    metric = twisted_metric(pde, cloud)
    assert torch.allclose(metric.inverse, torch.linalg.inv(b), atol=1e-12)
    found = metric.squared_speed(cloud.points, velocity(pde, cloud), cloud.log_weights)
    assert found.item() == pytest.approx(dissipation(pde, cloud).item(), rel=1e-12)


def test_a_singular_a_takes_the_identity(generator):
    a = torch.tensor([[1.0, 1.0], [1.0, 1.0]], dtype=DOUBLE)
    metric = twisted_metric(equation(a, -a), weighted_cloud(3, 2, generator))
    assert metric.inverse.tolist() == torch.eye(2).tolist()
    with pytest.raises(Unsupported, match="singular A"):
        twisted_metric(equation(a, 3 * a), weighted_cloud(3, 2, generator))


def test_recipe_1_the_energy_of_60_tokens_falls_faster_and_faster():
    """Golden test 16: lambda-convexity would make D fall; here it doubles before it falls."""
    cloud = Cloud.quantiles(60, 0.3, 0.09)
    run = simulate(REPELLED, cloud, until=1.75, step=0.05, integrator="rk4")
    found = [dissipation(REPELLED, run.cloud(5 * i)).item() for i in range(8)]
    wanted = [0.080, 0.125, 0.187, 0.265, 0.339, 0.367, 0.303, 0.160]
    assert found == pytest.approx(wanted, abs=0.004)
    ends = [energy(REPELLED, run.cloud(i)).item() for i in (0, -1)]
    assert ends == pytest.approx([0.458, 0.028], abs=0.002)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_recipe_1_one_token(sign):
    pde = equation([[sign]], [[1.0]])
    for x in (0.2, 0.7, 1.5):
        wanted = x**2 * math.exp(sign * x**2)
        assert dissipation(pde, Cloud([[x]])).item() == pytest.approx(wanted, rel=1e-12)


def test_the_unnormalised_energy_is_not_convex_in_plain_w_2():
    eye = torch.eye(1, dtype=DOUBLE)
    projections = Projections(query=-eye, key=eye, value=eye)
    pde = TransformerPDE("unnormalised", projections, beta=1.0)
    start, middle, end = (energy(pde, Cloud([[x]])).item() for x in (-0.5, 0.0, 0.5))
    assert middle - (start + end) / 2 == pytest.approx(0.1106, abs=5e-5)


@pytest.mark.parametrize(
    ("a", "b", "error", "words"),
    [
        ([[1.0, 2.0], [0.0, 1.0]], None, NotPositive, "symmetric A"),
        ([[1.0]], [[-1.0]], NotPositive, "positive definite B"),
        ([[1.0]], [[1.0, 0.0], [0.0, 1.0]], ShapeMismatch, "one width"),
        ([1.0], None, ShapeMismatch, "square"),
        ([[float("nan")]], None, NotFinite, "A must be finite"),
    ],
)
def test_matrices_that_give_no_metric_are_refused(a, b, error, words):
    with pytest.raises(error, match=words):
        TwistedMetric(a, b)


def test_other_equations_have_no_twisted_metric(generator):
    cloud = weighted_cloud(3, 2, generator)
    with pytest.raises(Unsupported, match="softmax"):
        twisted_metric(TransformerPDE("linear"), cloud)
    with pytest.raises(Unsupported, match="V = sigma B A"):
        twisted_metric(equation(torch.eye(2), [[0.0, -1.0], [1.0, 0.0]]), cloud)
