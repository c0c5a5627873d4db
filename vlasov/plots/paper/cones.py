r"""Paths of planar covariances in the cone of positive semi-definite matrices.

.. math:: (\Sigma_{11} - \Sigma_{22},\; 2\Sigma_{12},\; \Sigma_{11} + \Sigma_{22})
"""

__all__ = ["cone"]

from typing import Any

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from mpl_toolkits.mplot3d import Axes3D
from mpl_toolkits.mplot3d.art3d import Line3DCollection, Poly3DCollection

from vlasov.errors import InvalidValue
from vlasov.experiments.report import Report
from vlasov.plots.paper.keys import outcome_colours
from vlasov.plots.stage import lighten
from vlasov.plots.style import CATEGORIES, FAINT, INK, dress

_MARGIN = 1.06
_ZOOM: Any = 1.25  # matplotlib's types ask for whole numbers


def cone(report: Report, panel: str, ax: Axes) -> Axes:
    """Draw every recorded path of a panel, its start and its limit, inside the cone.

    Raises:
        InvalidValue: for flat axes.
    """
    if not isinstance(ax, Axes3D):
        raise InvalidValue(
            "A cone needs 3-D axes but got flat ones. "
            "Make them with `figure.add_subplot(projection='3d')`."
        )
    paths = report.arrays[f"{panel}_paths"].numpy()
    colours = outcome_colours(report.arrays[f"{panel}_kinds"].tolist())
    last = _last(paths)
    top = max(float(last[:, 2].max()), 1.0) * _MARGIN
    _boundary(ax, top)
    if "plane" in report.arrays:
        _sheet(ax, report.arrays["plane"].numpy(), top)
    ax.add_collection3d(
        Line3DCollection(
            list(paths.transpose(1, 0, 2)), colors=colours, lw=0.5, alpha=0.55, zorder=3
        ),
        autolim=False,
    )
    ax.scatter(*paths[0].T, color=FAINT, s=2, zorder=2, depthshade=False)
    for line in report.arrays[f"{panel}_lines"].numpy():
        ax.plot(*np.outer(_ray(line), [0.0, top]), color=INK, ls="--", lw=1.0, zorder=4)
    ax.scatter(*last.T, color=colours, s=7, zorder=5, depthshade=False, lw=0)
    _frame(ax, top)
    return dress(ax)


def _last(paths: Float[np.ndarray, "f n 3"]) -> Float[np.ndarray, "n 3"]:
    """The last finite point of each path."""
    count = np.isfinite(paths).all(axis=-1).sum(axis=0)
    return paths[count - 1, np.arange(paths.shape[1])]


def _ray(line: Float[np.ndarray, " 2"]) -> Float[np.ndarray, " 3"]:
    """The covariance l l^T of a unit direction, at trace one."""
    return np.array([line[0] ** 2 - line[1] ** 2, 2 * line[0] * line[1], 1.0])


def _circle(count: int = 121) -> Float[np.ndarray, "k 3"]:
    angle = np.linspace(0, 2 * np.pi, count)
    return np.stack([np.cos(angle), np.sin(angle), np.ones_like(angle)], axis=-1)


def _boundary(ax: Axes3D, top: float) -> None:
    """Circles at five heights, and twelve rays."""
    circle = _circle()
    web = [top * part * circle for part in np.linspace(0.2, 1.0, 5)]
    web += [np.outer([0.0, top], ray) for ray in circle[:-1:10]]
    ax.add_collection3d(
        Line3DCollection(web, colors=FAINT, lw=0.35, alpha=0.6, zorder=0), autolim=False
    )


def _sheet(ax: Axes3D, normal: Float[np.ndarray, " 3"], top: float) -> None:
    """The part inside the cone of a plane through its apex."""
    across = np.arctan2(normal[1], normal[0])
    half = np.arccos(np.clip(-normal[2] / np.hypot(normal[0], normal[1]), -1.0, 1.0))
    corners = [
        top * np.array([np.cos(across + turn), np.sin(across + turn), 1.0])
        for turn in (half, -half)
    ]
    ax.add_collection3d(
        Poly3DCollection(
            [np.stack([np.zeros(3), *corners])],
            facecolors=CATEGORIES[2], alpha=0.22, zorder=1,
        ),
        autolim=False,
    )  # fmt: skip


def _frame(ax: Axes3D, top: float) -> None:
    """Equal units along the three axes: the boundary stands at 45 degrees."""
    ax.set(
        xlim=(-top, top),
        ylim=(-top, top),
        zlim=(0.0, top),
        xlabel=r"$\Sigma_{11} - \Sigma_{22}$",
        ylabel=r"$2\Sigma_{12}$",
    )
    ax.text(top, top, 1.1 * top, r"$\mathrm{tr}\,\Sigma$", ha="center")  # along it, it is cut off
    ax.set_box_aspect((2, 2, 1), zoom=_ZOOM)
    ax.view_init(elev=18, azim=-60)
    for axis in (ax.xaxis, ax.yaxis, ax.zaxis):
        lighten(axis)
    ax.tick_params(pad=-2)
