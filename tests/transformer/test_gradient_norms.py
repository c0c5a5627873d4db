"""Gradients by state and layer against those of linear networks, and the size of a step."""

import pytest
import torch

from vlasov.errors import InvalidValue
from vlasov.transformer.gradients import gradient_norms, relative_change


def linear_network(generator, factors):
    """States of x -> c W x for orthogonal W, and the weights."""
    x = torch.randn(4, 3, generator=generator, dtype=torch.float64).requires_grad_()
    weights, states = [], [x]
    for factor in factors:
        drawn = torch.randn(3, 3, generator=generator, dtype=torch.float64)
        weight = (factor * torch.linalg.qr(drawn).Q).requires_grad_()
        weights.append([weight])
        states.append(states[-1] @ weight.mT)
    return states, weights


def test_orthogonal_layers_scale_gradients_by_their_factors(generator):
    states, weights = linear_network(generator, [2.0, 0.5, 3.0])
    direction = torch.randn(4, 3, generator=generator, dtype=torch.float64)
    scalar = (direction * states[-1]).sum()
    later = [torch.autograd.grad(scalar, one, retain_graph=True)[0] for one in states[1:]]
    found = gradient_norms(scalar, states, weights)
    size = direction.norm().item()
    assert found.states.tolist() == pytest.approx([3.0 * size, 1.5 * size, 3.0 * size, size])
    for layer, (weight,) in enumerate(weights):
        # dS / dW_l = (dS / dX_{l+1})^T X_l
        expected = (later[layer].mT @ states[layer]).norm()
        torch.testing.assert_close(found.weights[layer], expected)
        torch.testing.assert_close(found.relative[layer], expected / weight.norm())


def test_what_the_scalar_does_not_see_counts_as_zero(generator):
    states, weights = linear_network(generator, [1.0, 1.0])
    found = gradient_norms(states[1].sum(), states, [*weights, []])
    assert found.states[2] == 0.0
    assert found.weights[1:].tolist() == [0.0, 0.0]
    assert found.relative[1:].tolist() == [0.0, 0.0]


def test_large_gradients_stay_in_range():
    weight = torch.tensor([3e200, 4e200], dtype=torch.float64, requires_grad=True)
    found = gradient_norms((weight * 3e200).sum() * 1e-100, [], [[weight], [weight]])
    assert found.weights.isfinite().all()
    assert found.relative[0].item() == pytest.approx(2**0.5 * 3e100 / 5e200)


def test_a_scalar_without_a_graph_is_refused():
    with pytest.raises(InvalidValue, match="outside `torch"):
        gradient_norms(torch.tensor(1.0), [], [])


def test_the_size_of_a_step_of_gradient_descent(generator):
    states, weights = linear_network(generator, [1.0, 2.0])
    scalar = states[-1].square().sum()
    gradients = torch.autograd.grad(scalar, [one for (one,) in weights], retain_graph=True)
    found = gradient_norms(scalar, states, weights)
    for (weight,), gradient, ratio in zip(weights, gradients, found.relative, strict=True):
        step = relative_change([weight], [weight - 0.01 * gradient])
        torch.testing.assert_close(step, 0.01 * ratio)
    with pytest.raises(InvalidValue, match="one weight at least"):
        relative_change([], [])
