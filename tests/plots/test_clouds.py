"""The cloud at one time, read back from the axes."""

import dataclasses
from typing import Any

import numpy as np
import pytest
import torch
from matplotlib.collections import PathCollection

from vlasov.errors import InvalidValue
from vlasov.plots import axes_for, cloud, project
from vlasov.plots.style import MANY


def _markers(ax) -> Any:
    (markers,) = [c for c in ax.collections if isinstance(c, PathCollection)]
    return markers


def _texts(ax) -> Any:
    return [text.get_text() for text in ax.texts]


@pytest.mark.parametrize("frame", [0, 2, -1])
def test_markers_stand_where_the_tokens_are(shrinking, figure, frame):
    run = shrinking()
    ax = figure.add_subplot()
    assert cloud(run, ax, frame=frame) is ax
    np.testing.assert_array_equal(_markers(ax).get_offsets(), run.points[frame].numpy())
    np.testing.assert_allclose(_markers(ax).get_facecolor()[:, :3], project(run).colours)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("$x_1$", "$x_2$")
    assert ax.get_aspect() == 1.0


def test_area_grows_with_the_weight(shrinking, figure):
    weights = torch.tensor([0.3, 0.1, 0.2, 0.4], dtype=torch.float64)
    run = dataclasses.replace(shrinking(n=4), log_weights=weights.log())
    ax: Any = cloud(run, figure.add_subplot())
    np.testing.assert_allclose(_markers(ax).get_sizes() / weights.numpy(), 120.0)


def test_tokens_on_the_circle_lie_on_the_line_drawn(shrinking, figure):
    ax: Any = cloud(shrinking(sphere=True), figure.add_subplot())
    np.testing.assert_allclose(np.linalg.norm(ax.lines[0].get_xydata(), axis=1), 1.0)
    assert not ax.axison


def test_tokens_behind_the_sphere_are_pale(shrinking, figure):
    run = shrinking(n=60, d=3, sphere=True)
    ax: Any = cloud(run, axes_for(run, figure), frame=0)
    elev, azim = np.radians([ax.elev, ax.azim])
    eye = [np.cos(elev) * np.cos(azim), np.cos(elev) * np.sin(azim), np.sin(elev)]
    behind = run.points[0].numpy() @ eye < 0
    alpha = _markers(ax).get_alpha()
    assert 0 < behind.sum() < 60
    assert alpha[behind].max() < alpha[~behind].min()


def test_the_camera_looks_at_the_final_cloud(make_run, figure):
    """A cluster below and at the back of the usual view comes to the front."""
    x = torch.tensor([[[0.5, 0.7, -0.6]] * 4], dtype=torch.float64)
    x = x / x.norm(dim=-1, keepdim=True)
    run = make_run(x, facts={"geometry": "sphere"})
    ax: Any = cloud(run, axes_for(run, figure))
    assert (np.asarray(_markers(ax).get_alpha()) > 0.5).all()


def test_three_coordinates_outside_a_sphere_have_a_box(shrinking, figure):
    run = shrinking(d=3)
    ax: Any = cloud(run, axes_for(run, figure))
    assert len(ax.collections) == 1  # no globe
    assert ax.get_zlabel() == "$x_3$"
    assert np.ptp(ax.get_xlim()) == pytest.approx(np.ptp(ax.get_zlim()))


def test_tokens_on_the_line_are_ticks_under_their_histogram(shrinking, figure):
    run = shrinking(n=40, d=1)
    ax: Any = cloud(run, figure.add_subplot())
    (ticks,) = ax.collections
    np.testing.assert_allclose(
        [segment[0, 0] for segment in ticks.get_segments()], run.points[-1, :, 0]
    )
    (bars,) = ax.patches
    height, edges, _ = bars.get_data()
    assert (height * np.diff(edges)).sum() == pytest.approx(1.0)
    assert ax.get_yticks().min() >= 0


def test_many_tokens_are_a_density(shrinking, figure):
    run = shrinking(n=MANY + 1, frames=2)
    ax: Any = cloud(run, figure.add_subplot())
    mesh: Any = ax.collections[0]
    assert type(mesh).__name__ == "QuadMesh"
    assert float(mesh.get_array().sum()) == pytest.approx(1.0)
    assert _texts(ax) == ["log density of 20001 tokens"]


def test_cells_hold_the_weight_of_the_tokens_in_them(make_run, figure):
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(1, MANY + 1, 2, generator=generator, dtype=torch.float64)
    weights = torch.rand(MANY + 1, generator=generator, dtype=torch.float64).softmax(-1)
    ax: Any = cloud(make_run(x, log_weights=weights.log()), figure.add_subplot())
    (mesh,) = ax.collections
    columns, rows = mesh.get_coordinates()[0, :, 0], mesh.get_coordinates()[:, 0, 1]
    slow, _, _ = np.histogram2d(*x[0].numpy().T, bins=[columns, rows], weights=weights.numpy())
    np.testing.assert_allclose(mesh.get_array().filled(0.0), slow.T, atol=1e-12)


def test_many_tokens_on_the_circle_are_bars_around_it(make_run, figure):
    """Two bars: three quarters of the tokens at angle 1 degree, one quarter at 91 degrees."""
    angle = torch.deg2rad(torch.where(torch.arange(4 * MANY) % 4 > 0, 1.0, 91.0).double())
    x = torch.stack([angle.cos(), angle.sin()], -1)
    run = make_run(x[None], facts={"geometry": "sphere"})
    ax: Any = cloud(run, figure.add_subplot())
    (bars,) = ax.collections
    tall, short = (path.vertices[:4] for path in bars.get_paths())
    heights = [np.linalg.norm(corners, axis=1).max() - 1 for corners in (tall, short)]
    assert heights[1] / heights[0] == pytest.approx(1 / 3)
    middle = [np.degrees(np.arctan2(*corners.mean(0)[::-1])) for corners in (tall, short)]
    np.testing.assert_allclose(middle, [1.0, 91.0])
    np.testing.assert_allclose(bars.get_facecolor()[:, :3], project(run).colours[[1, 0]])
    assert np.linalg.norm(tall, axis=1).max() < ax.get_xlim()[1]
    assert _texts(ax) == [f"density of {4 * MANY} tokens"]


def test_many_tokens_in_space_are_thinned_and_the_picture_says_so(shrinking, figure):
    run = shrinking(n=MANY + 1, d=3, frames=2)
    ax: Any = cloud(run, axes_for(run, figure))
    assert len(_markers(ax).get_sizes()) == 4000
    assert _texts(ax) == ["4000 of 20001 tokens"]


def test_a_density_of_tokens_in_one_place(make_run, figure):
    ax: Any = cloud(make_run(torch.ones(1, MANY + 1, 2)), figure.add_subplot())
    assert ax.collections[0].get_array().sum() == pytest.approx(1.0)


def test_a_batch_says_which_cloud_it_shows(make_run, figure):
    ax: Any = cloud(make_run(torch.rand(2, 3, 7, 2)), figure.add_subplot())
    assert _texts(ax) == ["cloud 0 of the batch"]


def test_limits_hold_the_frame_also_after_a_blow_up(make_run, figure):
    x = torch.randn(6, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    run = make_run(torch.stack([x, 2 * x, 1e6 * x]))
    for frame in range(3):
        ax: Any = cloud(run, figure.add_subplot(), frame=frame)
        low, high = np.array([ax.get_xlim(), ax.get_ylim()]).T
        inside = run.points[frame].numpy()
        assert ((inside > low) & (inside < high)).all()
        assert (high - low).max() < 10 * np.ptp(inside, axis=0).max()


def test_a_collapsed_cloud_is_seen_at_its_first_size(make_run, figure):
    x = torch.randn(6, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    ax: Any = cloud(make_run(torch.stack([x, 0 * x])), figure.add_subplot())
    assert np.ptp(ax.get_xlim()) > np.ptp(x[:, 0].numpy())


@pytest.mark.parametrize("place", [0.0, 3.0, 1e12])
def test_a_cloud_in_one_point_has_limits(make_run, figure, place):
    ax: Any = cloud(
        make_run(torch.full((2, 3, 2), place, dtype=torch.float64)), figure.add_subplot()
    )
    low, high = ax.get_xlim()
    assert low < place < high


@pytest.mark.parametrize(
    ("d", "projection", "phrase"),
    [(2, "3d", "needs flat axes but got 3-D ones"), (3, None, "needs 3-D axes but got flat ones")],
)
def test_axes_of_the_wrong_kind_are_refused(shrinking, figure, d, projection, phrase):
    with pytest.raises(InvalidValue, match=phrase):
        cloud(shrinking(d=d), figure.add_subplot(projection=projection))


@pytest.mark.parametrize("frame", [5, -6])
def test_a_frame_the_run_does_not_have_is_refused(shrinking, figure, frame):
    with pytest.raises(InvalidValue, match=rf"frames 0 to 4 but got frame {frame}"):
        cloud(shrinking(), figure.add_subplot(), frame=frame)


def test_axes_for_a_place_in_a_grid(shrinking, figure):
    grid = figure.add_gridspec(1, 2)
    assert axes_for(shrinking(), figure, grid[0]).name == "rectilinear"
    assert axes_for(shrinking(d=3), figure, grid[1]).name == "3d"
