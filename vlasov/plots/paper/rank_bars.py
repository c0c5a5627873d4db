"""Histograms of ranks: softmax beside L2, a row for each kind of V, a column for each d."""

__all__ = ["rank_bars"]

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from vlasov.experiments.report import Report
from vlasov.plots.style import CATEGORIES, INK, dress, new_figure, typeset

Row = Sequence[Any]

_NAMES = {"softmax": "softmax", "l2": "L2"}
_VALUES = {"identity": "$V = I$", "gram": "$V = G^T G$"}
_COLOURS = {"softmax": CATEGORIES[0], "l2": CATEGORIES[3]}


def rank_bars(report: Report) -> Figure:
    """Draw how many of the converged draws have each rank; a dashed line at ceil(d/2)."""
    rows: Sequence[Row] = report.tables["ranks"].rows
    panels, values, dims = (_seen(rows, i) for i in range(3))
    figure = new_figure(7.0, 2.1 * len(values) + 0.4)
    grid = figure.subplots(len(values), len(dims), sharey=True, squeeze=False)
    for i, value in enumerate(values):
        for j, d in enumerate(dims):
            chosen = [row for row in rows if row[1] == value and row[2] == d]
            _bars(grid[i, j], chosen, panels, d)
            grid[i, j].set_title(f"$d = {d}$, {_VALUES[value]}")
            if j == 0:
                grid[i, j].set_ylabel("number of draws")
            if i == len(values) - 1:
                grid[i, j].set_xlabel("rank of the limit")
            dress(grid[i, j])
    patches = [Patch(color=_COLOURS[name], label=_NAMES[name]) for name in panels]
    legend = figure.legend(
        handles=patches, loc="outside lower center", ncols=len(patches), frameon=False
    )
    for text in legend.get_texts():
        typeset(text)
    return figure


def _seen(rows: Sequence[Row], column: int) -> list[Any]:
    """The values of a column, in the order in which they come."""
    return list(dict.fromkeys(row[column] for row in rows))


def _bars(ax: Axes, rows: Sequence[Row], panels: Sequence[str], d: int) -> None:
    """Bars of one (V, d): a place for each rank, and one for draws that have not converged."""
    ranks = range(min(1, *(row[5] for row in rows)), d + 1)
    places = np.arange(len(ranks) + 1)
    for k, name in enumerate(panels):
        own = [row for row in rows if row[0] == name]
        counts = Counter(row[5] for row in own if row[4])
        heights = [*(counts[rank] for rank in ranks), sum(not row[4] for row in own)]
        left = 0.42 * (k - (len(panels) - 1) / 2)
        bars = ax.bar(places + left, heights, width=0.4, color=_COLOURS[name])
        ax.bar_label(bars, labels=[str(h) if h else "" for h in heights], padding=1)
    ax.axvline((d + 1) // 2 + 0.5 - ranks[0], color=INK, ls="--", lw=0.8)
    ax.set_xticks(places, [*map(str, ranks), "not yet"])
