"""Many tokens in the plane or on the circle: how much weight lies where, instead of markers."""

__all__ = ["cells", "ring"]

from typing import Any

import numpy as np
from jaxtyping import Float
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.colors import LogNorm

from vlasov.plots.projection import Scene
from vlasov.plots.stage import RING_HEIGHT, window

_CELLS = 120  # along each side of the window
_BARS = 180  # around the circle: two degrees each


def cells(scene: Scene, ax: Axes, frame: int) -> Artist:
    """The cloud's weight in square cells, on a logarithmic scale; empty cells stay paper."""
    low, high = window(scene, frame)
    place = _CELLS * (scene.points[frame] - low) / (high - low)
    inside = ((place >= 0) & (place < _CELLS)).all(axis=1)
    column, row = place[inside].astype(np.int64).T
    flat = np.bincount(row * _CELLS + column, scene.weights[inside], _CELLS**2)
    weight = np.ma.masked_equal(flat.reshape(_CELLS, _CELLS), 0.0)
    edges = [np.linspace(a, b, _CELLS + 1) for a, b in zip(low, high, strict=True)]
    least, most = float(weight.min()), float(weight.max())
    norm = LogNorm(least, max(most, 1.01 * least))
    return ax.pcolormesh(*edges, weight, cmap="cividis_r", norm=norm, rasterized=True, zorder=1)


def ring(scene: Scene, ax: Axes, frame: int) -> Artist:
    """Bars around the circle, as high as the weight under them over the largest.

    Their colour is the mean of where their tokens started.
    """
    x = scene.points[frame]
    turn = np.arctan2(x[:, 1], x[:, 0]) / (2 * np.pi) % 1.0
    bar = np.minimum((_BARS * turn).astype(np.int64), _BARS - 1)
    weight = np.bincount(bar, scene.weights, _BARS)
    colours = [np.bincount(bar, scene.weights * c, _BARS) for c in scene.colours.T]
    filled = weight > 0
    shades = np.stack(colours, axis=-1)[filled] / weight[filled, None]
    bars = _wedges(scene.radius or 1.0, weight / weight.max())[filled]
    # thin edges of the same colour close the seams between neighbours
    look: dict[str, Any] = {"facecolors": shades, "edgecolors": "face", "linewidths": 0.3}
    collection = PolyCollection(list(bars), zorder=2, **look)
    ax.add_collection(collection, autolim=False)
    return collection


def _wedges(radius: float, heights: Float[np.ndarray, " bars"]) -> Float[np.ndarray, "bars 4 2"]:
    """The corners of bars that stand on the circle."""
    angle = 2 * np.pi * np.arange(len(heights) + 1) / len(heights)
    edges = np.stack([np.cos(angle), np.sin(angle)], axis=-1)
    outer = radius * (1 + RING_HEIGHT * heights[:, None])
    a, b = edges[:-1], edges[1:]
    return np.stack([radius * a, radius * b, outer * b, outer * a], axis=1)
