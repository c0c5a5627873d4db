r"""Covariance ellipses over time: where the mean goes, how the cloud spreads and turns.

.. math:: \{x : (x - m)^\top \Sigma^{-1} (x - m) = r^2\} = m + r\, \Sigma^{1/2} S^1
"""

__all__ = ["ellipses"]

import numpy as np
from jaxtyping import Float, Int
from matplotlib import colormaps
from matplotlib.axes import Axes

from vlasov.errors import InvalidValue
from vlasov.plots.outline import outline
from vlasov.plots.projection import Scene, project
from vlasov.plots.stage import stage, window
from vlasov.plots.style import FAINT, dress, note, require_flat, thinned
from vlasov.run import Run

_SHOWN = 6


def ellipses(run: Run, ax: Axes, *, deviations: float = 2.0) -> Axes:
    """Draw the ellipse of six frames, early ones dark, and the path of the mean.

    Tokens with three coordinates or more are projected on their two principal axes.

    Args:
        run: the run; of a batch, its first cloud.
        ax: flat axes.
        deviations: the ellipse's size r in standard deviations.

    Raises:
        InvalidValue: for tokens on the line, 3-D axes, or a size that is not positive.
        NotFinite: if the run holds a frame that cannot be drawn.
    """
    require_flat(ax, wanted="An ellipse")
    if not 0 < deviations < np.inf:
        raise InvalidValue(
            f"`deviations` must be positive and finite but got {deviations}. Two are usual."
        )
    if run.points.shape[-1] == 1:
        raise InvalidValue(
            "An ellipse needs two coordinates but the tokens lie on a line. Use `trajectories`."
        )
    scene = project(run, components=2)
    _draw(scene, stage(scene, ax), deviations)
    note(ax, f"{deviations:g} standard deviations", scene.remark)
    return ax


def _draw(scene: Scene, ax: Axes, deviations: float) -> None:
    kept = _visible(scene)
    means = np.stack([scene.weights @ x for x in scene.points[: kept[-1] + 1]])
    ax.plot(*means.T, color=FAINT, lw=0.8, zorder=1)
    for frame, shade in zip(kept, np.linspace(0.0, 0.85, len(kept)), strict=True):
        outline = _outline(scene.points[frame], scene.weights, deviations)
        colour = colormaps["viridis"](shade)
        ax.plot(*outline, color=colour, lw=1.3, label=f"$t = {scene.times[frame]:.3g}$")
        ax.plot(*means[frame], color=colour, marker="o", ms=3)
    ax.autoscale(tight=False)
    ax.margins(0.05)
    ax.legend(frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5), handlelength=1.2)
    dress(ax)


def _visible(scene: Scene) -> Int[np.ndarray, " k"]:
    """Six frames spread over those that fit the limits: a blow-up would hide the rest."""
    low, high = window(scene)
    fits = ((scene.points >= low) & (scene.points <= high)).all(axis=(1, 2))
    frames = np.flatnonzero(fits)
    return frames[thinned(len(frames), _SHOWN)]


def _outline(
    x: Float[np.ndarray, "n 2"], weights: Float[np.ndarray, " n"], deviations: float
) -> Float[np.ndarray, "2 k"]:
    mean = weights @ x
    return outline(mean, (weights[:, None] * (x - mean)).T @ (x - mean), deviations)
