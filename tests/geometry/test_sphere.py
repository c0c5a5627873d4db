"""The sphere: numbers that the laws do not fix."""

import math

import pytest
import torch
from torch.testing import assert_close

from vlasov.errors import InvalidValue, NotOnGeometry
from vlasov.geometry import Euclid, Sphere


def point(*coordinates: float) -> torch.Tensor:
    return torch.tensor([coordinates], dtype=torch.float64)


@pytest.mark.parametrize("angle", [1e-12, 1e-3, 1.0, math.pi - 1e-9])
def test_arc_length_keeps_its_digits_for_close_and_antipodal_points(angle):
    sphere = Sphere(radius=3.0)
    x, y = point(3.0, 0.0), point(3 * math.cos(angle), 3 * math.sin(angle))
    # the points themselves are rounded to 1e-16 of the radius
    assert_close(sphere.distance(x, y).item(), 3 * angle, atol=1e-14, rtol=1e-12)


def test_tangent_removes_the_radial_part():
    assert_close(Sphere().tangent(point(0.0, 2.0), point(1.0, 5.0)), point(1.0, 0.0))


def test_retraction_scales_to_the_radius():
    assert_close(Sphere(radius=10.0).retract(point(3.0, 4.0)), point(6.0, 8.0))


def test_the_origin_stays_under_retraction_and_fails_the_check():
    assert_close(Sphere().retract(point(0.0, 0.0)), point(0.0, 0.0))
    with pytest.raises(NotOnGeometry, match=r"\|x\| = 0"):
        Sphere().check(point(0.0, 0.0))


def test_check_names_the_worst_norm_and_the_remedy():
    with pytest.raises(NotOnGeometry, match=r"one has \|x\| = 1\.5\. Project the cloud with"):
        Sphere().check(torch.tensor([[1.0, 0.0], [0.0, 1.5], [0.99, 0.0]]))


def test_check_refuses_nan():
    with pytest.raises(NotOnGeometry, match="nan"):
        Sphere().check(point(math.nan, 1.0))


def test_check_is_stricter_in_double_than_in_single_precision():
    x = point(1 + 1e-6, 0.0)
    Sphere().check(x.float())
    with pytest.raises(NotOnGeometry):
        Sphere().check(x)


@pytest.mark.parametrize("radius", [0.0, -1.0, math.inf, math.nan])
def test_a_radius_must_be_positive(radius):
    with pytest.raises(InvalidValue, match="positive, finite radius"):
        Sphere(radius=radius)


def test_euclid_accepts_everything():
    Euclid().check(point(1e30, 0.0))
