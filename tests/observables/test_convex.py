"""Convex hulls, flat ones included."""

import math

import pytest
import torch
from torch.testing import assert_close

from vlasov.cloud import Cloud
from vlasov.errors import Unsupported
from vlasov.observables import HullVertices, HullVolume

CUBE = torch.cartesian_prod(*[torch.tensor([0.0, 1.0], dtype=torch.float64)] * 3)
TRIANGLE = torch.tensor([[0.0, 0.0], [2.0, 0.0], [0.0, 1.0]], dtype=torch.float64)
LIFT = torch.tensor([[1.0, 0.5, -0.3], [0.2, 1.0, 0.7]], dtype=torch.float64)


@pytest.mark.parametrize(
    ("points", "vertices", "volume"),
    [
        (torch.cat([CUBE, CUBE / 2 + 0.1]), 8, 1.0),
        (TRIANGLE, 3, 1.0),
        (TRIANGLE @ LIFT, 3, 0.0),
        (TRIANGLE[:2], 2, 0.0),
        (torch.tensor([[3.0], [1.0], [2.0]]).double(), 2, 2.0),
        (torch.full((5, 3), 0.1).double(), 1, 0.0),
    ],
    ids=["cube", "triangle", "flat in space", "segment", "line", "point"],
)
def test_hull_of(points, vertices, volume):
    assert HullVertices()(Cloud(points)).item() == vertices
    assert_close(HullVolume()(Cloud(points)).item(), volume)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_line_far_from_the_origin_is_flat_in_spite_of_rounding(dtype):
    x = 100 + torch.linspace(0, 1, 50, dtype=torch.float64)[:, None] * LIFT[:1]
    assert HullVolume()(Cloud(x.to(dtype))).item() == 0.0
    assert HullVertices()(Cloud(x.to(dtype))).item() == 2


@pytest.mark.parametrize("thickness", [1e-3, 1e-6, 1e-9])
def test_a_thin_sheet_keeps_its_volume(thickness):
    sheet = CUBE * torch.tensor([1.0, 1.0, thickness], dtype=torch.float64)
    assert_close(HullVolume()(Cloud(sheet)).item(), thickness, rtol=1e-5, atol=0.0)


def test_volume_of_many_points_of_a_ball_is_close_to_that_of_the_ball():
    share = HullVolume()(Cloud.ball(20_000, 3)).item() / (4 / 3 * math.pi)
    # the hull of n points of a ball in R^d misses a share of order n^(-2 / (d + 1))
    assert 1 - 6 * 20_000**-0.5 < share < 1


@pytest.mark.parametrize("observable", [HullVertices(), HullVolume()])
def test_wide_clouds_are_refused_by_name(observable):
    with pytest.raises(Unsupported, match=f"'{observable.name}' needs width d <= 4"):
        observable(Cloud.gaussian(20, d=5))
