"""What the row blocks do with derivatives."""

import pytest
import torch
from torch import Tensor

from vlasov.engines import Dense, Engine, Tiled

FLAT = torch.zeros(1, 7, dtype=torch.float64)


def tokens() -> Tensor:
    g = torch.Generator().manual_seed(0)
    return torch.randn(1, 7, 2, generator=g, dtype=torch.float64)


@pytest.mark.parametrize("differentiated", [True, False], ids=["both", "kernel only"])
def test_a_kernel_with_parameters_of_its_own_keeps_their_gradient(differentiated: bool) -> None:
    bias = torch.tensor(0.3, dtype=torch.float64, requires_grad=True)
    x = tokens().requires_grad_(differentiated)

    def gradients(engine: Engine) -> tuple[Tensor, ...]:
        total = engine.pair_sum(lambda s: (s + bias).sigmoid(), x, x, x, FLAT)
        wanted = [y for y in (bias, x) if y.requires_grad]
        return torch.autograd.grad(total.square().sum(), wanted)

    torch.testing.assert_close(gradients(Tiled(rows=2)), gradients(Dense()))


def test_only_the_gradients_that_are_wanted_are_returned() -> None:
    x, v = tokens(), tokens().requires_grad_()
    total = Tiled(rows=2).average(x, x, v, FLAT)
    (gradient,) = torch.autograd.grad(total.sum(), v)
    torch.testing.assert_close(gradient.sum(), torch.tensor(14.0, dtype=torch.float64))


def test_second_derivatives_flow_through_several_blocks() -> None:
    def second(engine: Engine) -> Tensor:
        x = tokens().requires_grad_()
        # One tensor as query, key and value, of which an outer function depends on too.
        total = engine.average(x, x, x, FLAT).square().sum() + x.pow(4).sum()
        (first,) = torch.autograd.grad(total, x, create_graph=True)
        (found,) = torch.autograd.grad(first.square().sum(), x)
        return found

    torch.testing.assert_close(second(Tiled(rows=2)), second(Dense()))


def test_second_derivatives_pass_gradgradcheck() -> None:
    x, fixed = tokens().requires_grad_(), tokens()
    assert torch.autograd.gradgradcheck(lambda x: Tiled(rows=3).average(x, fixed, x, FLAT), (x,))
