"""The sphere in space: its lines, where it is seen from, and which side is seen."""

__all__ = ["globe", "graticule", "in_front", "turn"]

import itertools

import numpy as np
from jaxtyping import Bool, Float
from matplotlib.colors import to_rgb
from mpl_toolkits.mplot3d import Axes3D
from mpl_toolkits.mplot3d.art3d import Line3DCollection

from vlasov.plots.projection import Scene
from vlasov.plots.style import FAINT, thinned


def turn(scene: Scene, ax: Axes3D) -> None:
    """Turn the camera so that as much of the last frame as can be is in front of the sphere."""
    if scene.radius is None:
        ax.view_init(elev=22, azim=-55)
        return
    kept = thinned(scene.n, 1000)
    x, weights = scene.points[-1, kept] / scene.radius, scene.weights[kept]
    heights, turns = (20.0, 35.0, 5.0, -15.0, -30.0), np.arange(-55.0, 305.0, 15.0).tolist()
    angles = list(itertools.product(heights, turns))
    eyes = np.stack([_direction(*angle) for angle in angles])
    best = int((np.minimum(eyes @ x.T, 0.5) @ weights).round(3).argmax())
    ax.view_init(elev=angles[best][0], azim=angles[best][1])


def in_front(x: Float[np.ndarray, "k 3"], ax: Axes3D) -> Bool[np.ndarray, " k"]:
    """Which points of a sphere about the origin lie on the half turned to the reader."""
    return x @ _direction(float(ax.elev), float(ax.azim)) >= 0


def _direction(elev: float, azim: float) -> Float[np.ndarray, " 3"]:
    """Where the camera stands, angles in degrees."""
    elev, azim = np.radians([elev, azim])
    return np.array([np.cos(elev) * np.cos(azim), np.cos(elev) * np.sin(azim), np.sin(elev)])


def globe(radius: float, ax: Axes3D) -> None:
    """Meridians and parallels, paler behind, and the outline."""
    lines = radius * graticule()
    segments = np.stack([lines[:, :-1], lines[:, 1:]], axis=-2).reshape(-1, 2, 3)
    alpha = np.where(in_front(segments.mean(axis=1), ax), 0.5, 0.15)
    grey = np.column_stack([np.tile(to_rgb(FAINT), (len(alpha), 1)), alpha])
    web = Line3DCollection(segments, colors=grey, linewidths=0.35, zorder=0)
    ax.add_collection3d(web, autolim=False)
    across, up, _ = np.linalg.svd(_direction(float(ax.elev), float(ax.azim))[None])[2][[1, 2, 0]]
    angle = np.linspace(0, 2 * np.pi, 181)[:, None]
    limb = radius * (np.cos(angle) * across + np.sin(angle) * up)
    ax.plot(*limb.T, color=FAINT, lw=0.6, zorder=0)


def graticule() -> Float[np.ndarray, "lines k 3"]:
    """Meridians and parallels of the unit sphere, every 30 degrees."""
    angle = np.linspace(0, 2 * np.pi, 121)
    c, s, o = np.cos(angle), np.sin(angle), np.zeros_like(angle)
    heights = np.radians(np.arange(-60, 61, 30))
    turns = np.radians(np.arange(0, 180, 30))
    parallels = [np.stack([np.cos(h) * c, np.cos(h) * s, o + np.sin(h)], -1) for h in heights]
    meridians = [np.stack([np.cos(a) * c, np.sin(a) * c, s], axis=-1) for a in turns]
    return np.stack(parallels + meridians)
