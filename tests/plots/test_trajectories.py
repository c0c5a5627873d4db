"""Paths of tokens, read back from the axes."""

from typing import Any

import numpy as np
import pytest
import torch
from matplotlib.collections import LineCollection

from vlasov.errors import InvalidValue
from vlasov.plots import axes_for, project, trajectories
from vlasov.plots.trajectories import _halves_of_pi


def _paths(ax) -> Any:
    (lines,) = [c for c in ax.collections if isinstance(c, LineCollection)]
    return lines


def _ends(ax) -> Any:
    return [c.get_offsets() for c in ax.collections if not isinstance(c, LineCollection)]


def test_paths_in_the_plane(shrinking, figure):
    run = shrinking()
    ax = figure.add_subplot()
    assert trajectories(run, ax) is ax
    drawn = np.stack(_paths(ax).get_segments(), axis=1)
    np.testing.assert_array_equal(drawn, run.points.numpy())
    np.testing.assert_allclose(_paths(ax).get_colors()[:, :3], project(run).colours)
    start, end = _ends(ax)
    np.testing.assert_array_equal(start, run.points[0].numpy())
    np.testing.assert_array_equal(end, run.points[-1].numpy())


def test_paths_on_the_line_run_over_time(shrinking, figure):
    run = shrinking(d=1)
    ax: Any = trajectories(run, figure.add_subplot())
    drawn = np.stack(_paths(ax).get_segments(), axis=1)
    np.testing.assert_array_equal(drawn[:, 3, 0], run.point_times.numpy())
    np.testing.assert_array_equal(drawn[..., 1], run.points[..., 0].numpy())
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("time $t$", "$x$")


def test_paths_on_the_circle_are_angles_over_time(make_run, figure):
    """A token that turns past π goes on, and two that meet across ±π end at one height."""
    angle = torch.stack(
        [torch.linspace(2.5, 3.5, 9), torch.linspace(-2.5, 3.5 - 2 * np.pi, 9)], -1
    )
    points = torch.stack([angle.cos(), angle.sin()], dim=-1)
    ax: Any = trajectories(make_run(points, facts={"geometry": "sphere"}), figure.add_subplot())
    height = np.stack(_paths(ax).get_segments(), axis=1)[..., 1]
    assert np.abs(np.diff(height, axis=0)).max() < 0.2
    np.testing.assert_allclose(height[-1, 0], height[-1, 1], atol=1e-5)  # float32 angles
    turns = (height - angle.numpy()) / (2 * np.pi)
    np.testing.assert_allclose(turns, turns.round(), atol=1e-5)
    assert ax.get_ylabel() == r"angle $\theta$"


@pytest.mark.parametrize(
    ("halves", "written"),
    [
        (0, "0"),
        (1, "π/2"),
        (2, "π"),
        (3, "3π/2"),
        (4, "2π"),
        (-1, "−π/2"),
        (-2, "−π"),
        (-6, "−3π"),
    ],
)
def test_angles_are_written_in_halves_of_pi(halves, written):
    assert _halves_of_pi(halves * np.pi / 2) == written


def test_paths_in_space(shrinking, figure):
    run = shrinking(d=3)
    ax: Any = trajectories(run, axes_for(run, figure))
    figure.canvas.draw()
    assert len(_paths(ax).get_segments()) == 12 * 4


def test_paths_behind_the_sphere_are_pale(shrinking, figure):
    run = shrinking(n=50, d=3, sphere=True)
    ax: Any = trajectories(run, axes_for(run, figure))
    collections: Any = [c for c in ax.collections if isinstance(c, LineCollection)]
    web, paths = collections
    assert len(set(paths.get_colors()[:, 3].round(6))) == 2
    assert len(set(web.get_colors()[:, 3])) == 2


def test_paths_and_frames_are_thinned_with_both_ends_kept(shrinking, figure):
    run = shrinking(n=1000, frames=1001)
    ax: Any = trajectories(run, figure.add_subplot())
    segments = _paths(ax).get_segments()
    assert (len(segments), len(segments[0])) == (200, 400)
    np.testing.assert_array_equal(segments[-1][[0, -1]], run.points[[0, -1], -1].numpy())
    assert [text.get_text() for text in ax.texts] == ["200 of 1000 tokens"]


def test_a_blow_up_does_not_hide_what_came_before(make_run, figure):
    x = torch.randn(6, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    ax: Any = trajectories(make_run(torch.stack([x, 4 * x, 1e9 * x])), figure.add_subplot())
    assert np.ptp(ax.get_xlim()) < 30 * np.ptp(x[:, 0].numpy())


@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize("sphere", [True, False])
def test_a_single_frame_is_drawn(shrinking, figure, d, sphere):
    run = shrinking(d=d, frames=1, sphere=sphere and d > 1)
    on_line = d == 1 or (d == 2 and sphere)
    ax: Any = trajectories(run, figure.add_subplot() if on_line else axes_for(run, figure))
    figure.canvas.draw()
    assert len(_ends(ax)) == 2


@pytest.mark.parametrize(
    ("d", "sphere", "projection", "phrase"),
    [
        (1, False, "3d", "A path over time needs flat axes"),
        (2, True, "3d", "A path over time needs flat axes"),
        (2, False, "3d", "needs flat axes but got 3-D ones"),
        (3, True, None, "needs 3-D axes but got flat ones"),
    ],
)
def test_axes_of_the_wrong_kind_are_refused(shrinking, figure, d, sphere, projection, phrase):
    run = shrinking(d=d, sphere=sphere)
    with pytest.raises(InvalidValue, match=phrase):
        trajectories(run, figure.add_subplot(projection=projection))
