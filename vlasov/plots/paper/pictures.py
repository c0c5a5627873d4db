"""Which picture shows a figure of the paper, and its panels."""

__all__ = ["paper_pictures"]

from collections.abc import Mapping

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from vlasov.experiments.report import Report
from vlasov.plots.paper.cones import cone
from vlasov.plots.paper.discs import disc
from vlasov.plots.paper.keys import key
from vlasov.plots.paper.outlines import outlines
from vlasov.plots.paper.rank_bars import rank_bars
from vlasov.plots.style import new_figure, typeset

_TITLES = {
    "softmax": "softmax",
    "l2": "L2",
    "sinkhorn": "Sinkhorn",
    "two-head": "softmax, two heads",
    "one-head": "softmax, one head",
    "clustering": "clustering",
    "blow-up": "finite-time blow-up",
}
_HEIGHTS = {"cone": 0.72, "disc": 1.06, "ellipses": 0.8}
"""Of a panel, in its widths."""

_DRAWN = {"cone": cone, "disc": disc, "ellipses": outlines}


def paper_pictures(report: Report) -> Mapping[str, Figure]:
    """The picture of a figure, by file name.

    Args:
        report: what `vlasov.experiments.paper.figure` gave.
    """
    if report.result["view"] == "ranks":
        return {str(report.result["figure"]): rank_bars(report)}
    return {str(report.result["figure"]): _panels(report)}


def _panels(report: Report) -> Figure:
    view, panels = str(report.result["view"]), list(report.result["panels"])
    columns = 2 if len(panels) in {2, 4} else len(panels)
    rows = -(-len(panels) // columns)
    width = 7.0 if columns > 1 else 3.7
    figure = new_figure(width, rows * _HEIGHTS[view] * width / columns + 0.35)
    look = {"projection": "3d", "proj_type": "ortho", "computed_zorder": False}
    for place, name in enumerate(panels, start=1):
        solid = look if view == "cone" else {}
        ax: Axes = figure.add_subplot(rows, columns, place, **solid)
        _DRAWN[view](report, name, ax)
        ax.set_title(_TITLES[name])
        typeset(ax.title, size=9.0)
    if view != "ellipses":
        key(figure, report)
    return figure
