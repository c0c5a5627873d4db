"""The empty axes a cloud is drawn in: limits for the whole run, circle or sphere, labels."""

__all__ = [
    "RING_HEIGHT",
    "axes_for",
    "lighten",
    "new_axes",
    "outgrown",
    "require_axes",
    "set_limits",
    "stage",
    "window",
]

from typing import Any

import numpy as np
from jaxtyping import Bool, Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.gridspec import SubplotSpec
from matplotlib.ticker import MaxNLocator
from mpl_toolkits.mplot3d import Axes3D

from vlasov.errors import InvalidValue
from vlasov.plots.globe import globe, turn
from vlasov.plots.projection import Scene, project
from vlasov.plots.style import FAINT, dress, number_ticks
from vlasov.run import Run

_GROWTH = 20.0  # frames this much larger than the first would shrink it to a dot
_ZOOM = 4.0  # frames this much larger than one would shrink it to a spot
_MARGIN = 0.08
RING_HEIGHT = 0.35
"""The highest bar of a density around the circle, in radii."""

_GLOBE_ZOOM: Any = 1.5  # fills the panel; matplotlib's types ask for whole numbers
_BOX_ZOOM: Any = 0.82  # leaves room for the labels


def axes_for(run: Run, figure: Figure, place: SubplotSpec | None = None) -> Axes:
    """New axes of the kind the clouds of a run need: flat, or 3-D for three coordinates.

    Example:
        >>> import torch
        >>> from vlasov.plots.style import new_figure
        >>> x, t, log_w = torch.zeros(1, 5, 3), torch.zeros(1), torch.full((5,), 0.2).log()
        >>> run = Run(t, x, t, log_w, None, "finished", "", 0.0)
        >>> axes_for(run, new_figure()).name
        '3d'
    """
    return new_axes(project(run), figure, place)


def new_axes(scene: Scene, figure: Figure, place: SubplotSpec | None = None) -> Axes:
    """As `axes_for`, for points already projected."""
    if scene.width < 3:
        return figure.add_subplot(place) if place else figure.add_subplot()
    kind = {"projection": "3d", "proj_type": "ortho", "computed_zorder": False}
    return figure.add_subplot(place, **kind) if place else figure.add_subplot(**kind)


def require_axes(scene: Scene, ax: Axes) -> None:
    """Refuse axes of the wrong dimension.

    Raises:
        InvalidValue: with how to make the right ones.
    """
    solid = isinstance(ax, Axes3D)
    if solid != (scene.width == 3):
        wanted, found = ("flat", "3-D") if solid else ("3-D", "flat")
        raise InvalidValue(
            f"A cloud with {scene.width} coordinates needs {wanted} axes but got {found} ones. "
            "Make them with `axes_for(run, figure)`."
        )


def stage(scene: Scene, ax: Axes, *, frame: int | None = None) -> Axes:
    """Set limits, labels, circle or sphere for a whole run, or for one frame."""
    if isinstance(ax, Axes3D):
        _solid(scene, ax)
    elif scene.width == 2:
        ax.set_aspect("equal", adjustable="box")
        if scene.radius is not None:
            _circle(scene.radius, ax)
    set_limits(scene, ax, frame)
    ax.set(**{f"{name}label": label for name, label in zip("xyz", scene.labels, strict=False)})
    return dress(ax)


def set_limits(scene: Scene, ax: Axes, frame: int | None) -> None:
    """Set the limits of `window` on as many axes as the tokens have coordinates."""
    limits = zip("xyz", *window(scene, frame), strict=False)
    ax.set(**{f"{name}lim": (low, high) for name, low, high in limits})
    for axis in (ax.xaxis, ax.yaxis)[: scene.width]:
        number_ticks(axis)


def window(
    scene: Scene, frame: int | None = None
) -> tuple[Float[np.ndarray, " m"], Float[np.ndarray, " m"]]:
    """Lower and upper limits, equally far apart along every axis: angles are true.

    For a whole run they hold every frame that is not twenty times larger than the first. For one
    frame they hold it, the first if that is larger, and all that are not much larger.
    """
    if scene.radius is not None:
        bars = RING_HEIGHT if scene.is_density else 0.0
        half = np.full(scene.width, (1 + _MARGIN + bars) * scene.radius)
        return -half, half
    most = _GROWTH * scene.sizes[0] if frame is None else _near(scene, frame)
    shown = scene.sizes <= most if most > 0 else np.full(len(scene.sizes), True)
    low, high = scene.lowest[shown].min(axis=0), scene.highest[shown].max(axis=0)
    middle, half = (low + high) / 2, (1 + _MARGIN) * (high - low).max() / 2
    least = 1e-6 * np.abs(middle).max() or 1.0  # a cloud in one point
    half = max(float(half), float(least))
    return middle - half, middle + half


def _near(scene: Scene, frame: int) -> float:
    return max(_ZOOM * scene.sizes[frame], scene.sizes[0])


def outgrown(scene: Scene) -> Bool[np.ndarray, " g"]:
    """The frames that the limits of the whole run do not hold."""
    most = _GROWTH * scene.sizes[0]
    return (scene.sizes > most) & (most > 0) & (scene.radius is None)


def _circle(radius: float, ax: Axes) -> None:
    angle = np.linspace(0, 2 * np.pi, 361)
    ax.plot(radius * np.cos(angle), radius * np.sin(angle), color=FAINT, lw=0.6, zorder=0)
    ax.set_axis_off()


def _solid(scene: Scene, ax: Axes3D) -> None:
    turn(scene, ax)
    if scene.radius is not None:
        ax.set_box_aspect((1, 1, 1), zoom=_GLOBE_ZOOM)
        ax.set_axis_off()
        globe(scene.radius, ax)
        return
    ax.set_box_aspect((1, 1, 1), zoom=_BOX_ZOOM)
    for axis in (ax.xaxis, ax.yaxis, ax.zaxis):
        lighten(axis)
    ax.tick_params(pad=-2)


def lighten(axis: Any) -> None:  # noqa: ANN401 - the axes of a box, which matplotlib leaves untyped
    """Draw an axis of a box in faint lines, with few ticks."""
    axis.pane.set(facecolor="none", edgecolor=FAINT)
    axis.line.set(color=FAINT, linewidth=0.6)
    axis.set_major_locator(MaxNLocator(4))
    axis._axinfo["grid"].update(color="#dddddd", linewidth=0.4)  # it has no public name
    axis.labelpad = -4
