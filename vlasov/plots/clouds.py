"""A token cloud at one time: markers coloured by where tokens started, or a density of many."""

__all__ = ["cloud", "draw_cloud", "marks", "opacity", "reduction"]

from typing import Any

import numpy as np
from jaxtyping import Float
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator
from mpl_toolkits.mplot3d import Axes3D

from vlasov.errors import InvalidValue
from vlasov.plots.density import cells, ring
from vlasov.plots.globe import in_front
from vlasov.plots.projection import Scene, project
from vlasov.plots.stage import require_axes, stage, window
from vlasov.plots.style import FAINT, MANY, marker_alpha, marker_area, note, thinned
from vlasov.run import Run

_BINS = 60
_BEHIND = 0.25
_SOLID_MOST = 4000  # markers in 3-D, where a density cannot be seen into


def cloud(run: Run, ax: Axes, *, frame: int = -1) -> Axes:
    """Draw the tokens of one frame; of a batch, those of the first cloud.

    Three coordinates need 3-D axes: `axes_for(run, figure)` makes the right ones. In one dimension
    the tokens are ticks under their histogram.

    Raises:
        InvalidValue: for axes of the wrong dimension or a frame the run does not have.
        NotFinite: if the run holds a frame that cannot be drawn.
    """
    scene = project(run)
    draw_cloud(scene, ax, frame)
    note(ax, reduction(scene), scene.remark)
    return ax


def draw_cloud(scene: Scene, ax: Axes, frame: int) -> None:
    """As `cloud`, for points already projected."""
    require_axes(scene, ax)
    frames = len(scene.points)
    if not -frames <= frame < frames:
        raise InvalidValue(
            f"The run has frames 0 to {frames - 1} but got frame {frame}. "
            "Choose one of them; negative ones count from the end."
        )
    stage(scene, ax, frame=frame)
    marks(scene, ax, frame)


def marks(scene: Scene, ax: Axes, frame: int) -> list[Artist]:
    """Add the tokens of a frame to axes already set; returned, to be taken away again."""
    if scene.width == 1:
        return _ticks_and_histogram(scene, ax, frame)
    if scene.is_density:
        return [(cells if scene.radius is None else ring)(scene, ax, frame)]
    return [_markers(scene, ax, frame)]


def reduction(scene: Scene) -> str:
    """What a reader must know of a cloud too large for a marker per token."""
    if scene.n <= MANY or scene.width == 1:
        return ""
    if not scene.is_density:
        return f"{_SOLID_MOST} of {scene.n} tokens"
    return f"{'log density' if scene.radius is None else 'density'} of {scene.n} tokens"


def _markers(scene: Scene, ax: Axes, frame: int) -> Artist:
    """Size by weight; a thin white edge keeps neighbours apart while they are few."""
    kept = thinned(scene.n, scene.n if scene.n <= MANY else _SOLID_MOST)
    x = scene.points[frame][kept]
    relative = np.clip(scene.weights[kept] * scene.n, 0.1, 12.0)
    look: dict[str, Any] = {
        "s": marker_area(len(kept)) * relative,
        "c": scene.colours[kept],
        "alpha": opacity(scene, ax, x),
        "edgecolors": "white",
        "linewidths": 0.3 if scene.n <= 500 else 0.0,
        "zorder": 3,
    }
    if isinstance(ax, Axes3D):
        look["depthshade"] = False
    return ax.scatter(*x.T, **look)


def opacity(
    scene: Scene, ax: Axes, x: Float[np.ndarray, "k m"]
) -> float | Float[np.ndarray, " k"]:
    """Opacity of marks at `x`: less the more tokens there are, and little behind a sphere."""
    front = marker_alpha(scene.n)
    if not isinstance(ax, Axes3D) or scene.radius is None:
        return front
    return np.where(in_front(x, ax), front, _BEHIND)


def _ticks_and_histogram(scene: Scene, ax: Axes, frame: int) -> list[Artist]:
    low, high = window(scene, frame)
    x = scene.points[frame][:, 0]
    bins = int(np.clip(3 * np.sqrt(scene.n), 12, _BINS))
    edges = np.linspace(low[0], high[0], bins + 1)
    height, _ = np.histogram(x, bins=edges, weights=scene.weights)
    height = height / np.diff(edges)
    top = height.max()
    bars = ax.stairs(height, edges, fill=True, color=FAINT, alpha=0.35)
    kept = thinned(scene.n, 2000)
    foot = -0.12 * top
    ticks = ax.vlines(x[kept], foot, 0.3 * foot, colors=list(scene.colours[kept]), lw=0.8)
    ax.set(ylim=(1.4 * foot, 1.08 * top), ylabel="density")
    ax.set_yticks([tick for tick in MaxNLocator(5).tick_values(0, top) if tick <= 1.08 * top])
    ax.spines["left"].set_bounds(0, 1.08 * top)
    return [bars, ticks]
