"""Points to draw: coordinates up to d = 3, principal axes beyond, finite frames only."""

import dataclasses
import re

import numpy as np
import pytest
import torch

from vlasov.errors import NotFinite
from vlasov.plots import project


@pytest.mark.parametrize("d", [1, 2, 3])
def test_up_to_three_coordinates_are_drawn_as_they_are(shrinking, d):
    run = shrinking(d=d)
    scene = project(run)
    np.testing.assert_array_equal(scene.points, run.points.numpy())
    assert scene.labels == (("$x$",) if d == 1 else ("$x_1$", "$x_2$", "$x_3$")[:d])


def test_tokens_of_a_plane_in_ten_dimensions_keep_their_distances(make_run, generator):
    plane = torch.randn(4, 30, 2, generator=generator, dtype=torch.float64)
    basis = torch.linalg.qr(torch.randn(10, 2, generator=generator, dtype=torch.float64)).Q
    scene = project(make_run(plane @ basis.mT + 3.0))
    drawn = torch.from_numpy(scene.points)
    # sums of ten squares of numbers of order 4
    torch.testing.assert_close(
        torch.cdist(drawn, drawn), torch.cdist(plane, plane), atol=1e-7, rtol=0
    )
    shares = [float(re.findall(r"\((\d+) % of variance\)", label)[0]) for label in scene.labels]
    assert sum(shares) == pytest.approx(100, abs=1)
    assert shares[0] >= shares[1]


def test_principal_axes_weigh_tokens(make_run):
    """Two heavy tokens apart along one axis outweigh many light ones apart along another."""
    points = torch.zeros(1, 12, 4, dtype=torch.float64)
    points[0, :2, 3] = torch.tensor([-1.0, 1.0])
    points[0, 2:, 0] = torch.linspace(-1.0, 1.0, 10, dtype=torch.float64)
    weights = torch.tensor([0.45, 0.45] + 10 * [0.01], dtype=torch.float64)
    scene = project(make_run(points, log_weights=weights.log()), components=1)
    assert scene.points[0, 1, 0] == pytest.approx(1.0)
    assert scene.labels == ("PC 1 (96 % of variance)",)


def test_principal_axes_of_a_cloud_about_to_blow_up(make_run, generator):
    x = torch.randn(2, 9, 5, generator=generator, dtype=torch.float64)
    x[1] *= 1e200  # its square overflows
    assert np.isfinite(project(make_run(x)).points).all()


def test_one_pair_of_axes_serves_all_frames(shrinking):
    run = shrinking(d=6)
    whole = project(run).points
    at_rest = run.points[:1].expand(5, -1, -1)
    assert np.ptp(project(dataclasses.replace(run, points=at_rest)).points, axis=0).max() == 0.0
    assert not np.allclose(whole[0], whole[-1])


@pytest.mark.parametrize(("d", "seen"), [(2, 2.0), (3, 2.0), (4, None)])
def test_the_radius_is_that_of_the_sphere_where_it_can_be_seen(shrinking, make_run, d, seen):
    points = 2.0 * shrinking(d=d, sphere=True).points
    scene = project(make_run(points, facts={"geometry": "sphere:radius=2"}))
    assert scene.radius == (None if seen is None else pytest.approx(seen))


def test_euclidean_tokens_lie_on_no_sphere(shrinking):
    assert project(shrinking(d=3)).radius is None


@pytest.mark.parametrize("bad", [torch.nan, torch.inf])
def test_a_frame_that_is_not_finite_is_refused(shrinking, bad):
    run = shrinking()
    run.points[3, 4, 1] = bad
    with pytest.raises(NotFinite, match=r"frame 3 \(t = 0.75\) of 5 holds NaN or infinity"):
        project(run)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_g13_half_precision_is_drawn_in_float32(shrinking, dtype):
    wide = shrinking(d=4)
    assert np.isfinite(
        project(dataclasses.replace(wide, points=wide.points.to(dtype))).points
    ).all()
    flat = shrinking()
    half = dataclasses.replace(flat, points=flat.points.to(dtype))
    np.testing.assert_array_equal(project(half).points, half.points.float().numpy())


def test_points_with_a_graph_are_drawn(shrinking):
    run = shrinking()
    run.points.requires_grad_()
    assert project(run).points.shape == (5, 12, 2)
