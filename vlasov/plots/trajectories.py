"""The paths of tokens through a run, from a hollow marker to a full one.

In one dimension and on the circle there is room for time: `x` or the angle is drawn against `t`.
"""

__all__ = ["TIME", "count_remark", "draw_trajectories", "runs_against_time", "trajectories"]

import dataclasses
from typing import Any

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.ticker import FuncFormatter, MultipleLocator
from mpl_toolkits.mplot3d import Axes3D
from mpl_toolkits.mplot3d.art3d import Line3DCollection

from vlasov.plots.clouds import opacity
from vlasov.plots.projection import Scene, project
from vlasov.plots.stage import require_axes, stage, window
from vlasov.plots.style import dress, marker_area, note, require_flat, thinned
from vlasov.run import Run

TIME = "time $t$"
_PATHS, _FRAMES = 200, 400


def trajectories(run: Run, ax: Axes) -> Axes:
    """Draw at most 200 paths, coloured by where they start; of a batch, the first cloud.

    Three coordinates need 3-D axes: `axes_for(run, figure)` makes the right ones. Frames more than
    twenty times larger than the first lie outside the limits: near blow-up they hide the rest.

    Raises:
        InvalidValue: for axes of the wrong dimension.
        NotFinite: if the run holds a frame that cannot be drawn.
    """
    scene = project(run)
    draw_trajectories(scene, ax)
    note(ax, count_remark(scene), scene.remark)
    return ax


def draw_trajectories(scene: Scene, ax: Axes) -> None:
    """As `trajectories`, for points already projected and without the remarks."""
    few = _thin(scene)
    if runs_against_time(scene):
        _against_time(few, ax)
        return
    require_axes(scene, ax)
    stage(scene, ax)
    _in_space(few, ax)


def runs_against_time(scene: Scene) -> bool:
    """Whether the paths are drawn over time: on the line, and on the circle by angle."""
    return scene.width == 1 or (scene.width == 2 and scene.radius is not None)


def count_remark(scene: Scene) -> str:
    """How many paths are drawn, if not all."""
    return f"{_PATHS} of {scene.n} tokens" if scene.n > _PATHS else ""


def _thin(scene: Scene) -> Scene:
    frames, tokens = thinned(len(scene.times), _FRAMES), thinned(scene.n, _PATHS)
    return dataclasses.replace(
        scene,
        times=scene.times[frames],
        points=scene.points[np.ix_(frames, tokens)],
        weights=scene.weights[tokens],
        colours=scene.colours[tokens],
    )


def _against_time(scene: Scene, ax: Axes) -> None:
    require_flat(ax, wanted="A path over time")
    if scene.width == 1:
        low, high = window(scene)
        path, label = scene.points[:, :, 0], scene.labels[0]
        ax.set_ylim(low[0], high[0])
    else:
        angle = np.arctan2(scene.points[:, :, 1], scene.points[:, :, 0])
        path, label = _unwound(angle), r"angle $\theta$"
        ax.yaxis.set_major_locator(MultipleLocator(np.pi / 2))
        ax.yaxis.set_major_formatter(FuncFormatter(_halves_of_pi))
    time = np.broadcast_to(scene.times[:, None], path.shape)
    lines = np.stack([time, path], axis=-1).swapaxes(0, 1)
    ax.add_collection(LineCollection(list(lines), colors=scene.colours, **_stroke(scene.n)))
    _ends(scene, ax, lines)
    ax.set(xlabel=TIME, ylabel=label)
    ax.autoscale_view(scaley=scene.width == 2)
    dress(ax)


def _unwound(angle: Float[np.ndarray, "g n"]) -> Float[np.ndarray, "g n"]:
    """Continuous angles, turned so that every cluster ends at one height."""
    path = np.unwrap(angle, axis=0)
    ends = np.sort(path[-1] % (2 * np.pi))
    gaps = np.diff(ends, append=ends[0] + 2 * np.pi)
    cut = ends[gaps.argmax()] + gaps.max() / 2 - 2 * np.pi
    return path - 2 * np.pi * np.floor((path[-1] - cut) / (2 * np.pi))


def _halves_of_pi(angle: float, _: int | None = None) -> str:
    halves = round(2 * angle / np.pi)
    if halves == 0:
        return "0"
    sign, count = "−" if halves < 0 else "", abs(halves)
    top = "" if count in {1, 2} else str(count // 2 if count % 2 == 0 else count)
    return f"{sign}{top}π" + ("/2" if count % 2 else "")


def _in_space(scene: Scene, ax: Axes) -> None:
    lines = scene.points.swapaxes(0, 1)
    if isinstance(ax, Axes3D):
        _solid_lines(scene, ax, lines)
    else:
        ax.add_collection(
            LineCollection(list(lines), colors=scene.colours, **_stroke(scene.n)), autolim=False
        )
    _ends(scene, ax, lines)


def _solid_lines(scene: Scene, ax: Axes3D, lines: Float[np.ndarray, "n g 3"]) -> None:
    """Each step a segment of its own, so that what lies behind the sphere is paler."""
    segments = np.stack([lines[:, :-1], lines[:, 1:]], axis=-2).reshape(-1, 2, 3)
    look: dict[str, Any] = _stroke(scene.n) | {"alpha": None}
    alpha = 0.7 * opacity(scene, ax, segments.mean(axis=1))
    rgb = np.repeat(scene.colours, lines.shape[1] - 1, axis=0)
    colours = np.column_stack([rgb, np.broadcast_to(alpha, len(rgb))])
    ax.add_collection3d(Line3DCollection(segments, colors=colours, **look), autolim=False)


def _stroke(n: int) -> dict[str, Any]:
    return {"linewidths": 0.9 if n <= 100 else 0.6, "alpha": 0.7 if n <= 100 else 0.5, "zorder": 1}


def _ends(scene: Scene, ax: Axes, lines: Float[np.ndarray, "n g m"]) -> None:
    """A hollow marker where each path starts, a full one where it ends."""
    area, colours = 0.6 * marker_area(scene.n), scene.colours
    solid = {"depthshade": False} if isinstance(ax, Axes3D) else {}
    hollow: dict[str, Any] = {
        "facecolors": "white",
        "edgecolors": colours,
        "linewidths": 0.6,
        "zorder": 2,
    }
    full: dict[str, Any] = {"c": colours, "edgecolors": "white", "linewidths": 0.2, "zorder": 3}
    for x, look in ((lines[:, 0], hollow), (lines[:, -1], full)):
        look |= {"s": area, "alpha": opacity(scene, ax, x)} | solid
        ax.scatter(*x.T, **look)
