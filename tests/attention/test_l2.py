import pytest
import torch
from random_sums import GENERAL

from vlasov.attention import L2
from vlasov.engines import ENGINES, Dense


@pytest.mark.parametrize("beta", [1.0, 0.3, -0.2])
def test_weights_fall_with_the_squared_distance(beta: float) -> None:
    g = torch.Generator().manual_seed(0)
    q, k, v = (torch.randn(1, 5, 2, generator=g, dtype=torch.float64) for _ in range(3))
    flat = torch.zeros(1, 5, dtype=torch.float64)
    squares = (q[0, :, None] - k[0, None]).square().sum(-1)
    wanted = (-beta * squares).softmax(-1) @ v[0]
    torch.testing.assert_close(L2().average(q, k, v, flat, Dense(), beta=beta)[0], wanted)


@pytest.mark.parametrize("engine", GENERAL)
def test_a11_far_from_the_origin_the_distances_keep_their_digits(engine: str) -> None:
    g = torch.Generator().manual_seed(0)
    x = (1000 + torch.randn(1, 30, 3, generator=g, dtype=torch.float64)).float()
    exact, flat = x.double(), torch.zeros(1, 30, dtype=torch.float64)
    squares = (exact[0, :, None] - exact[0, None]).square().sum(-1)
    wanted = (-squares).softmax(-1) @ exact[0]
    found = L2().average(x, x, x, flat.float(), ENGINES.build(engine))[0]
    assert (found - wanted).abs().max() < 1e-3


@pytest.mark.parametrize("engine", GENERAL)
def test_a11_three_close_points_far_from_the_origin(engine: str) -> None:
    x = torch.tensor([[[1000.0], [1000.01], [1000.02]]], dtype=torch.float32)
    exact = x.double() - 1000
    squares = (exact[0] - exact[0].mT).square()
    # Large enough that the three distances, 1e-4 apart, tell: 0, 0.37, 0.84 away from the middle.
    wanted = (-1e4 * squares).softmax(-1) @ exact[0]
    flat = torch.zeros(1, 3)
    found = L2().average(x, x, x - 1000, flat, ENGINES.build(engine), beta=1e4)[0]
    assert (found - wanted).abs().max() < 1e-4


def test_moving_the_origin_changes_nothing() -> None:
    g = torch.Generator().manual_seed(1)
    x = torch.randn(1, 6, 2, generator=g, dtype=torch.float64)
    flat = torch.zeros(1, 6, dtype=torch.float64)
    here = L2().average(x, x, x, flat, Dense())
    there = L2().average(x + 50, x + 50, x, flat, Dense())
    torch.testing.assert_close(there, here, rtol=0, atol=1e-12)
