"""One diffusion step against the matrices of its stencil, and its gradients (V61)."""

import math

import pytest
import torch
from torch.testing import assert_close

from vlasov.errors import InvalidValue
from vlasov.transformer.cosine_steps import RESPONSES, cosine_step
from vlasov.transformer.diffusion_analysis import (
    dirichlet_energy,
    response,
    spectrum,
    stable_alpha,
    step_matrix,
)
from vlasov.transformer.heat_steps import Stencil, heat_step, maker
from vlasov.transformer.norm_layers import Norm
from vlasov.transformer.real_tokens import real_tokens

STENCILS = {
    "one": Stencil((1,)),
    "replicated": Stencil((1, 2, 4)),
    "conservative": Stencil((1, 2, 4), conservative=True),
    "transposed": Stencil((1, 2, 4), transposed=True),
    "causal": Stencil((1, 2, 4), causal=True),
}
RATES = (0.2, 0.15, 0.1)
PADDINGS = {
    "none": None,
    "right": [[0, 0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 1, 1]],
    "scattered": [[0, 1, 0, 0, 0, 0, 1], [1, 0, 0, 0, 0, 0, 1]],
}


def _neumann(length, h=1, *, conservative=False, causal=False):
    """The stencil of stride h, row by row from its definition."""
    matrix = torch.zeros(length, length, dtype=torch.float64)
    for i in range(length):
        for j in (i - h,) if causal else (i - h, i + h):
            beyond = i if conservative else min(max(j, 0), length - 1)
            place = j if 0 <= j < length else beyond
            matrix[i, place] += 1
            matrix[i, i] -= 1
    return matrix


@pytest.mark.parametrize("name", list(STENCILS))
@pytest.mark.parametrize("length", [4, 5, 6, 9])
def test_a_step_is_the_matrix_of_its_stencil(name, length):
    stencil = STENCILS[name]
    ends = {"conservative": stencil.conservative, "causal": stencil.causal}
    wanted = torch.eye(length, dtype=torch.float64)
    for h, rate in zip(stencil.scales, RATES[: len(stencil.scales)], strict=True):
        wanted += rate * _neumann(length, h, **ends)
    found = step_matrix(length, RATES[: len(stencil.scales)], stencil)
    assert_close(found, wanted.mT if stencil.transposed else wanted, rtol=0, atol=1e-15)


@pytest.mark.parametrize("name", list(STENCILS))
@pytest.mark.parametrize("padding", list(PADDINGS))
@pytest.mark.usefixtures("unchecked_types")
def test_gradients_of_first_and_second_order(name, padding, generator):
    mask = None if PADDINGS[padding] is None else torch.tensor(PADDINGS[padding]).bool()
    stencil = STENCILS[name]
    x = torch.randn(2, 7, 1, generator=generator).double().requires_grad_()
    rates = torch.rand(len(stencil.scales), 1, generator=generator).double().requires_grad_()

    def step(x, rates):
        return heat_step(x, rates, stencil, real_tokens(x, mask))

    assert torch.autograd.gradcheck(step, (x, rates), fast_mode=True)
    assert torch.autograd.gradgradcheck(step, (x, rates), fast_mode=True)


def test_only_the_points_are_kept_for_the_gradient(generator):
    x = torch.randn(3, 50, 8, generator=generator).requires_grad_()
    rates = torch.full((3, 8), 0.1).requires_grad_()
    kept = []
    with torch.autograd.graph.saved_tensors_hooks(lambda y: kept.append(y) or y, lambda y: y):
        heat_step(x, rates, STENCILS["replicated"], real_tokens(x, None))
    assert {y.data_ptr() for y in kept} == {x.data_ptr(), rates.data_ptr()}


@pytest.mark.parametrize("kind", ["layer", "rms"])
@pytest.mark.usefixtures("unchecked_types")
def test_a_norm_makes_its_tokens_again_with_the_same_gradients(kind, generator):
    """First and second order; beside them the norm of a copy, which keeps what it reads."""
    norm = Norm(3, kind=kind, eps=1e-6).double()
    x = torch.randn(2, 7, 3, generator=generator).double().requires_grad_()
    rates = torch.rand(3, 3, generator=generator).double().requires_grad_()

    def normed(x, rates):
        return norm(heat_step(x, rates, STENCILS["replicated"], real_tokens(x, None)))

    assert torch.autograd.gradgradcheck(normed, (x, rates), fast_mode=True)
    y = heat_step(x, rates, STENCILS["replicated"], real_tokens(x, None))
    found = torch.autograd.grad(norm(y).square().sum(), (x, rates), retain_graph=True)
    wanted = torch.autograd.grad(norm(y * 1.0).square().sum(), (x, rates))
    assert all(torch.equal(a, b) for a, b in zip(found, wanted, strict=True))


def test_only_results_of_a_step_are_made_again(generator):
    x = torch.randn(2, 7, 3, generator=generator).requires_grad_()
    rates = torch.full((1, 3), 0.1)
    y = heat_step(x, rates, STENCILS["one"], real_tokens(x, None))
    made = maker(y)
    assert made is not None
    assert torch.equal(made(), y)
    assert maker(x) is maker(y.detach()) is maker(y + 1) is None


@pytest.mark.parametrize("length", [2, 3, 32, 101])
def test_v61_the_spectrum_of_the_neumann_matrix(length):
    found = torch.linalg.eigvalsh(_neumann(length)).flip(0)
    assert_close(found, spectrum(length), rtol=0, atol=1e-12)


def test_v61_the_largest_stable_strength():
    assert stable_alpha(32) == pytest.approx(0.501207, abs=5e-7)
    for length in (2, 3, 32):
        largest = stable_alpha(length)
        for alpha, grows in ((largest * (1 - 1e-9), False), (largest * (1 + 1e-9), True)):
            matrix = step_matrix(length, [alpha], STENCILS["one"])
            assert (torch.linalg.eigvalsh(matrix).abs().max() > 1 + 1e-12) == grows
    with pytest.raises(InvalidValue, match="needs two tokens"):
        stable_alpha(1)


@pytest.mark.parametrize("alpha", [0.05, 0.25, 0.4, 0.4999])
def test_v61_the_energy_falls_below_a_half(alpha, generator):
    x = torch.randn(20, 3, generator=generator, dtype=torch.float64)
    step = step_matrix(20, [alpha], STENCILS["one"])
    for _ in range(100):
        x, before = step @ x, dirichlet_energy(x)
        assert dirichlet_energy(x) < before


@pytest.mark.parametrize("k", [0, 1, 7, 15])
def test_v61_a_cosine_is_multiplied_by_the_response(k):
    omega = math.pi * k / 16
    places = torch.arange(16, dtype=torch.float64) + 0.5
    wave = (omega * places).cos().unsqueeze(-1)
    factor = response(torch.tensor(omega, dtype=torch.float64), [1], [0.3])
    assert_close(step_matrix(16, [0.3], STENCILS["one"]) @ wave, factor * wave, rtol=0, atol=1e-12)


def test_v61_no_mode_flips_up_to_a_quarter_and_the_highest_survives_a_half():
    omega = torch.linspace(0, math.pi, 1001, dtype=torch.float64)
    assert response(omega, [1], [0.25]).min() > -1e-12
    assert response(omega, [1], [0.2501]).min() < 0
    assert response(omega[-1], [1], [0.5]).item() == pytest.approx(-1, abs=1e-12)
    assert response(omega[-1], [1], [0.3]).item() == pytest.approx(1 - 4 * 0.3, abs=1e-12)


@pytest.mark.parametrize("kind", list(RESPONSES))
@pytest.mark.parametrize("length", [1, 2, 9])
def test_cosine_steps_are_functions_of_the_neumann_matrix(kind, length, generator):
    x = torch.randn(2, length, 2, generator=generator, dtype=torch.float64)
    rates = torch.tensor([0.7, 30.0], dtype=torch.float64)
    eye, laplacian = torch.eye(length, dtype=torch.float64), _neumann(length)
    found = cosine_step(x, rates, RESPONSES[kind], real_tokens(x, None))
    for channel, rate in enumerate(rates):
        implicit = torch.linalg.inv(eye - rate * laplacian)
        matrix = implicit if kind == "implicit" else torch.linalg.matrix_exp(rate * laplacian)
        assert_close(found[..., channel], x[..., channel] @ matrix.mT, rtol=0, atol=1e-13)


def test_the_heat_flow_is_a_semigroup_and_the_limit_of_small_steps(generator):
    x = torch.randn(12, 1, generator=generator, dtype=torch.float64)
    tokens = real_tokens(x, None)
    exact = RESPONSES["exact"]

    def flow(x, time):
        return cosine_step(x, torch.tensor([time], dtype=torch.float64), exact, tokens)

    assert_close(flow(flow(x, 0.3), 0.7), flow(x, 1.0), rtol=0, atol=1e-14)
    errors = []
    for steps in (16, 32, 64, 128, 256):
        step = step_matrix(12, [1 / steps], STENCILS["one"])
        errors.append((torch.linalg.matrix_power(step, steps) @ x - flow(x, 1.0)).norm().log2())
    slopes = torch.stack(errors).diff()
    assert (slopes + 1).abs().max() < 0.15  # first order


def test_half_precision_is_filtered_in_float32(generator):
    x = torch.randn(9, 2, generator=generator).bfloat16()
    tokens, rates = real_tokens(x, None), torch.full((2,), 0.5)
    found = cosine_step(x, rates, RESPONSES["exact"], tokens)
    wanted = cosine_step(x.float(), rates, RESPONSES["exact"], tokens).bfloat16()
    assert torch.equal(found, wanted)
