"""Section 3 of the predictions: what the proofs of arXiv:2510.03272 assume, and what they miss.

The numbers of the tests are those of the section.
"""

import math

import pytest
import torch
from torch.autograd.functional import jacobian
from torch.testing import assert_close

from vlasov.transformer.diffusion_analysis import spectrum, step_matrix
from vlasov.transformer.heat_steps import Stencil

L = 8
LAPLACIAN = step_matrix(L, [1.0], Stencil((1,))) - torch.eye(L, dtype=torch.float64)


def modes():
    """The cosine eigenvectors of the Laplacian as columns, the mean first."""
    return torch.linalg.eigh(LAPLACIAN).eigenvectors.flip(1)


def largest_asymmetry(field, x):
    """Zero for the gradient of any potential, at any point."""
    found = jacobian(field, x.flatten(), vectorize=True)
    return (found - found.mT).abs().max().item()


def test_1_the_gradient_of_an_asymmetric_coupling_is_that_of_its_symmetric_part(generator):
    kernel = torch.rand(7, 7, generator=generator, dtype=torch.float64)
    u = torch.randn(7, generator=generator, dtype=torch.float64, requires_grad=True)
    differences = u[:, None] - u[None, :]
    (gradient,) = torch.autograd.grad((kernel * differences.square()).sum() / 2, u)
    assert_close(gradient, ((kernel + kernel.mT) * differences).sum(1))
    assert (gradient - 2 * (kernel * differences).sum(1)).abs().max() > 0.1


def test_1_neither_attention_nor_an_mlp_is_the_gradient_of_a_potential(generator):
    x = torch.randn(5, 3, generator=generator, dtype=torch.float64)
    inner = torch.randn(3, 6, generator=generator, dtype=torch.float64)
    outer = torch.randn(6, 3, generator=generator, dtype=torch.float64)

    def attention(flat):
        tokens = flat.view(5, 3)
        return ((tokens @ tokens.mT).softmax(-1) @ tokens - tokens).flatten()

    assert largest_asymmetry(attention, x) > 0.1
    assert (
        largest_asymmetry(lambda flat: ((flat.view(5, 3) @ inner).tanh() @ outer).flatten(), x)
        > 0.1
    )
    tied = largest_asymmetry(
        lambda flat: ((flat.view(5, 3) @ inner).tanh() @ inner.mT).flatten(), x
    )
    assert tied < 1e-14


def test_2_nothing_in_the_flow_stated_normalises(generator):
    """Diffusion and coupling of Eq. (3) scale with the tokens; LayerNorm does not."""
    kernel = torch.rand(L, L, generator=generator, dtype=torch.float64)
    u = torch.randn(L, generator=generator, dtype=torch.float64)

    def flow(u):
        return LAPLACIAN @ u - (kernel * (u[:, None] - u[None, :])).sum(1)

    assert_close(flow(1000 * u), 1000 * flow(u))
    for size in (1e-3, 1.0, 1e3):  # every constant, of any norm, is an equilibrium
        assert not flow(torch.full((L,), size, dtype=torch.float64)).any()


@pytest.mark.parametrize(("mu", "rate"), [(0.5, 2.0), (0.1, 0.3), (1.0, 0.0)])
def test_3_the_gradient_decays_at_mu_plus_lambda(mu, rate):
    """With F = mu u^2/2; the mean has this rate, of which A.2 keeps mu alone."""
    eye = torch.eye(L, dtype=torch.float64)
    decay = torch.linalg.matrix_exp(LAPLACIAN - (mu + rate) * eye)
    assert torch.linalg.matrix_norm(decay, 2).item() == pytest.approx(math.exp(-mu - rate))


def test_3_the_energy_of_the_appendix_is_another_one(generator):
    """Its gradient has a pull to the start, and no coupling; the flow of Eq. (3) is no descent."""
    u, start = torch.randn(2, L, generator=generator, dtype=torch.float64)
    kernel = torch.ones(L, L, dtype=torch.float64)
    flow = LAPLACIAN @ u - (kernel * (u[:, None] - u[None, :])).sum(1)
    gradient = -(LAPLACIAN @ u) + (u - start)
    assert_close(flow + gradient, (u - start) - L * (u - u.mean()))
    uphill = u.mean() + 0.1 * (u - u.mean())
    far = uphill + 10 * (uphill - u.mean())  # a start beyond the tokens pulls them apart
    flow = LAPLACIAN @ uphill - L * (uphill - uphill.mean())
    assert flow @ (-(LAPLACIAN @ uphill) + (uphill - far)) > 0


@pytest.mark.parametrize(("pull", "unique"), [(0.0, False), (2.0, True)])
def test_3_without_convexity_two_starts_have_two_limits(pull, unique):
    """F = (u^2 - 1)^2/4 has curvature down to -1; a pull to 0 by more than that is enough."""
    ends = []
    for sign in (1.0, -1.0):
        u = torch.full((L,), sign, dtype=torch.float64)
        for _ in range(4000):
            u = u + 0.01 * (LAPLACIAN @ u - u * (u.square() - 1) - pull * u)
        ends.append(u)
    assert ((ends[0] - ends[1]).abs().max() < 1e-9) == unique
    assert unique or torch.equal(ends[0], torch.ones(L, dtype=torch.float64))


def test_14_smoothing_can_cost_more_early_than_late():
    """A label in a mode that the step removes, then moved into the mean: rho rises from 0 to 1."""
    values = spectrum(L)
    alpha = -1 / values[6].item()
    assert 0 < alpha < 0.5
    step = torch.eye(L, dtype=torch.float64) + alpha * LAPLACIAN
    early, late = modes()[:, 6], modes()[:, 0]
    assert (step @ early).norm() < 1e-14  # every label gives the same tokens
    assert_close(step @ late, late)
