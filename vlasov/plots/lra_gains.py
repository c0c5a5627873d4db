"""Heat maps of what arms gain over the baseline, in points, with the interval in each cell."""

__all__ = ["gain_map", "gain_page", "scale_page"]

from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure

from vlasov.experiments.lra_arms import BASELINE, Arm
from vlasov.experiments.lra_published import SCALES, TITLES
from vlasov.experiments.report import Report, Table
from vlasov.plots.lra_arms import groups_of, position_name, scale_name, tasks_of
from vlasov.plots.style import FAINT, INK, dress, new_figure, typeset

_COLOURS = "PuOr_r"  # two-sided, told apart by colour-blind readers: orange helps
_DARK = 0.6  # of the largest gain: darker cells have white text
_CELL = (0.8, 0.42)  # inches
_BAR = 2.2  # inches of the colour bar, at most
_WIDE = 7.0  # inches of a page
_REMARK = "gain over the baseline; bold: 95 % interval excludes 0"

Gains = Mapping[tuple[str, str], tuple[float, float | None]]
"""Task and arm -> mean gain and half of the interval, in points."""


def gain_page(report: Report) -> Figure | None:
    """Arms by tasks; None where no arm was run beside a baseline."""
    gains, tasks = _gains(report.tables["paired"]), tasks_of(report.tables["paired"])
    arms = [arm for group in groups_of(arm for _, arm in gains) for arm in group.arms.values()]
    if not arms:
        return None
    figure = new_figure(2.4 + _CELL[0] * len(tasks), 1.0 + _CELL[1] * len(arms))
    ax = figure.subplots()
    cells = [[gains.get((task, arm)) for task in tasks] for arm in arms]
    gain_map(cells, ax, [_label(arm) for arm in arms], [TITLES[task] for task in tasks],
             _largest(gains))  # fmt: skip
    _bar(figure, [ax], _largest(gains))
    return figure


def scale_page(report: Report) -> Figure | None:
    """Positions by scales, a panel for each task; None where no position has several scales."""
    gains, tasks = _gains(report.tables["paired"]), tasks_of(report.tables["paired"])
    groups = [one for one in groups_of(arm for _, arm in gains) if _placed(one.arms)]
    scales = [one for one in SCALES if any(one in group.arms for group in groups)]
    if not any(len(group.arms) > 1 for group in groups):
        return None
    wide = _CELL[0] * len(scales) + 0.2
    across = min(len(tasks), max(1, int(_WIDE / wide)))
    down = -(-len(tasks) // across)
    figure = new_figure(1.8 + wide * across, 0.4 + down * (0.7 + _CELL[1] * len(groups)))
    axes = figure.subplots(down, across, sharey=True, squeeze=False).ravel()
    for ax in axes[len(tasks) :]:
        ax.set_visible(False)
    for ax, task in zip(axes, tasks, strict=False):
        cells = [[gains.get((task, group.arms.get(one, ""))) for one in scales]
                 for group in groups]  # fmt: skip
        names = [group.name for group in groups]
        gain_map(cells, ax, names, [scale_name(one) for one in scales], _largest(gains))
        typeset(ax.set_title(TITLES[task], loc="left"), size=9.0)
    _bar(figure, list(axes), _largest(gains))
    return figure


def gain_map(
    cells: Sequence[Sequence[tuple[float, float | None] | None]],
    ax: Axes,
    rows: Sequence[str],
    columns: Sequence[str],
    largest: float,
) -> Axes:
    """Draw the cells; what was not run is left blank, with a dash."""
    ax.imshow(_means(cells), cmap=_COLOURS, vmin=-largest, vmax=largest, aspect="auto")
    for i, row in enumerate(cells):
        for k, cell in enumerate(row):
            dark = cell is not None and abs(cell[0]) > _DARK * largest
            colour = FAINT if cell is None else "white" if dark else INK
            weight = "bold" if _clear(cell) else "normal"
            ax.text(k, i, _written(cell), color=colour, weight=weight, ha="center", va="center")
    ax.set_xticks(range(len(columns)), columns)
    ax.set_yticks(range(len(rows)), rows)
    ax.tick_params(length=0)
    dress(ax)
    for label in (*ax.get_xticklabels(), *ax.get_yticklabels()):
        typeset(label)
    for spine in ax.spines.values():
        spine.set_visible(False)
    return ax


def _means(
    cells: Sequence[Sequence[tuple[float, float | None] | None]],
) -> Float[np.ndarray, "rows columns"]:
    return np.array([[np.nan if cell is None else cell[0] for cell in row] for row in cells])


def _gains(paired: Table) -> Gains:
    names = ("task", "diffusion", "difference", "low", "high")
    found: dict[tuple[str, str], tuple[float, float | None]] = {}
    for task, arm, mean, low, high in zip(*map(paired.column, names), strict=True):
        if arm == BASELINE or mean is None:
            continue
        reach = None if low is None or high is None else 50 * (float(high) - float(low))
        found[str(task), str(arm)] = (100 * float(mean), reach)
    return found


def _placed(arms: Mapping[tuple[int, ...], str]) -> bool:
    return all(Arm(arm).place is not None for arm in arms.values())


def _largest(gains: Gains) -> float:
    return max((abs(mean) for mean, _ in gains.values()), default=0.0) or 1.0


def _label(arm: str) -> str:
    place = Arm(arm).place
    if place is None:
        return arm
    return f"{position_name(place[0])}, {scale_name(place[1])}"


def _written(cell: tuple[float, float | None] | None) -> str:
    if cell is None:
        return "–"
    mean, reach = cell
    shown = f"{mean:+.2f}".replace("-", "−")
    return shown if reach is None else f"{shown}\n± {reach:.2f}"


def _clear(cell: tuple[float, float | None] | None) -> bool:
    """Whether the interval excludes zero."""
    return cell is not None and cell[1] is not None and abs(cell[0]) > cell[1]


def _bar(figure: Figure, axes: Sequence[Axes], largest: float) -> None:
    shades = ScalarMappable(Normalize(-largest, largest), _COLOURS)
    shrink = min(1.0, _BAR / figure.get_figheight())
    bar = figure.colorbar(shades, ax=axes, shrink=shrink, aspect=18 * shrink, pad=0.02)
    bar.outline.set_visible(False)
    bar.set_label("gain (points)")
    dress(bar.ax)
    typeset(figure.suptitle(_REMARK, x=0.99, ha="right", color=FAINT))
