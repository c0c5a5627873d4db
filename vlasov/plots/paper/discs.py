r"""Shapes of planar covariances in the unit disc, whose boundary holds those of rank one.

.. math:: \left(\frac{\Sigma_{11} - \Sigma_{22}}{\mathrm{tr}\,\Sigma},\;
          \frac{2\Sigma_{12}}{\mathrm{tr}\,\Sigma}\right)
"""

__all__ = ["disc"]

from typing import Any

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection

from vlasov.experiments.report import Report
from vlasov.plots.paper.keys import OUTCOMES, outcome_colours
from vlasov.plots.style import FAINT, INK, dress, require_flat

_JUMP = 0.2


def disc(report: Report, panel: str, ax: Axes) -> Axes:
    """Draw the recorded paths of a panel, and where each of its starts ends.

    Raises:
        InvalidValue: for 3-D axes.
    """
    require_flat(ax, wanted="A disc")
    paths = report.arrays[f"{panel}_paths"].numpy()
    shapes = paths[..., :2] / paths[..., 2:]
    colours = outcome_colours(report.arrays[f"{panel}_kinds"].tolist())
    angle = np.linspace(0, 2 * np.pi, 361)
    ax.plot(np.cos(angle), np.sin(angle), color=INK, lw=0.8, zorder=1)
    for shape, colour in zip(shapes.transpose(1, 0, 2), colours, strict=True):
        ax.add_collection(
            LineCollection(_pieces(shape), colors=colour, lw=0.4, alpha=0.6, zorder=2)
        )
    ax.scatter(*shapes[0].T, color=FAINT, s=2, zorder=3, lw=0)
    rows = [row for row in _rows(report) if row["panel"] == panel]
    ax.scatter(
        [row["u_end"] for row in rows],
        [row["w_end"] for row in rows],
        color=[OUTCOMES[row["outcome"]] for row in rows],
        s=4, zorder=4, lw=0,
    )  # fmt: skip
    for line in report.arrays[f"{panel}_lines"].numpy():
        u, w = line[0] ** 2 - line[1] ** 2, 2 * line[0] * line[1]
        ax.plot(u, w, marker="D", ms=7, mec=INK, mfc="none", mew=0.9, zorder=5)
    ax.set_aspect("equal")
    ax.set(
        xlim=(-1.1, 1.1),
        ylim=(-1.1, 1.1),
        xticks=(-1, -0.5, 0, 0.5, 1),
        yticks=(-1, -0.5, 0, 0.5, 1),
        xlabel=r"$(\Sigma_{11} - \Sigma_{22})\,/\,\mathrm{tr}\,\Sigma$",
        ylabel=r"$2\Sigma_{12}\,/\,\mathrm{tr}\,\Sigma$",
    )
    return dress(ax)


def _pieces(shape: Float[np.ndarray, "f 2"]) -> list[Float[np.ndarray, "k 2"]]:
    """A path where it is finite, cut where it moves too fast for its frames: no chords."""
    known = shape[np.isfinite(shape).all(axis=1)]
    far = np.linalg.norm(np.diff(known, axis=0), axis=1) > _JUMP
    return np.split(known, np.flatnonzero(far) + 1)


def _rows(report: Report) -> list[dict[str, Any]]:
    table = report.tables["starts"]
    return [dict(zip(table.columns, row, strict=True)) for row in table.rows]
