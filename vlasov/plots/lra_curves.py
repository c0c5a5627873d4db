"""Training curves of a grid: losses and validation accuracy, means with intervals over seeds."""

__all__ = ["curve_page", "training_curves"]

import statistics
from collections.abc import Sequence

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from vlasov.experiments.intervals import half_width
from vlasov.experiments.lra_published import TITLES
from vlasov.experiments.report import Report, Table
from vlasov.plots.lra_arms import groups_of, legend_below, tasks_of
from vlasov.plots.style import CATEGORIES, FAINT, INK, dress, new_figure, typeset

_PANELS = (
    ("train_loss", "training loss (nats)"),
    ("validation_loss", "validation loss (nats)"),
    ("validation_accuracy", "validation accuracy"),
)
_BAND = 0.13  # how dark a band is
_ROOM = 0.3  # of the range of the seeds, left for bands on either side
_FEW = 8
"""Arms that colours tell apart; beyond, those of one position share one."""


def curve_page(report: Report) -> Figure | None:
    """A row of panels for each task; None before any epoch."""
    table = report.tables["curves"]
    tasks = tasks_of(table)
    if not tasks:
        return None
    colours = _colours([str(arm) for arm in dict.fromkeys(table.column("diffusion"))])
    figure = new_figure(7.0, 0.5 + 1.75 * len(tasks))
    axes = figure.subplots(len(tasks), len(_PANELS), squeeze=False)
    for row, task in zip(axes, tasks, strict=True):
        for ax, (measure, label) in zip(row, _PANELS, strict=True):
            training_curves(table, ax, task, measure, colours)
            ax.set(ylabel=label, xlabel="epoch" if task == tasks[-1] else "")
            dress(ax)
        typeset(row[0].set_title(TITLES[task], loc="left"), size=9.0)
    names = _names(list(colours))
    handles: list[Artist] = [
        Line2D([], [], color=colour, lw=1.4, label=name)
        for name, colour in {names[arm]: colour for arm, colour in colours.items()}.items()
    ]
    if len(set(table.column("seed"))) > 1:
        handles.append(Patch(color=INK, alpha=_BAND, lw=0, label="95 % interval over seeds"))
    legend_below(figure, handles)
    return figure


def training_curves(
    table: Table, ax: Axes, task: str, measure: str, colours: dict[str, str]
) -> Axes:
    """Draw a measure of every arm of a task over the epochs, those seeds that got there.

    The bands are Student's 95 % intervals of the means. The axis follows the seeds: intervals of
    two or three of them can be many times wider, and are cut.
    """
    seen: list[float] = []
    for arm, colour in colours.items():
        epochs, values = _by_epoch(table, task, arm, measure)
        if not epochs:
            continue
        means = np.array([np.mean(one) for one in values])
        reach = half_width([_spread(one) for one in values], [len(one) for one in values])
        ax.plot(epochs, means, color=colour, lw=1.2)
        ax.fill_between(epochs, means - reach, means + reach, color=colour, alpha=_BAND, lw=0)
        seen += [value for one in values for value in one]
    _follow(ax, seen)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=6))
    return ax


def _spread(values: Sequence[float]) -> float:
    return statistics.stdev(values) if len(values) > 1 else 0.0


def _follow(ax: Axes, seen: Sequence[float]) -> None:
    if seen and min(seen) < max(seen):
        low, high = ax.get_ylim()
        room = _ROOM * (max(seen) - min(seen))
        ax.set_ylim(max(low, min(seen) - room), min(high, max(seen) + room))


def _by_epoch(
    table: Table, task: str, arm: str, measure: str
) -> tuple[list[int], list[list[float]]]:
    found: dict[int, list[float]] = {}
    names = ("task", "diffusion", "epoch", measure)
    for name, diffusion, epoch, value in zip(*map(table.column, names), strict=True):
        if (name, diffusion) == (task, arm) and value is not None:
            found.setdefault(int(epoch or 0), []).append(float(value))
    return sorted(found), [found[epoch] for epoch in sorted(found)]


def _colours(arms: Sequence[str]) -> dict[str, str]:
    """The baseline is black."""
    groups = groups_of(arms)
    others = [colour for colour in CATEGORIES if colour != "#000000"]
    if len(arms) <= _FEW:
        ordered = [arm for group in groups for arm in group.arms.values() if arm != "none"]
        found = dict(zip(ordered, others, strict=False))
    else:
        found = {arm: colour for group, colour in zip(groups, (FAINT, *others), strict=False)
                 for arm in group.arms.values()}  # fmt: skip
    return {arm: INK if arm == "none" else found.get(arm, FAINT)
            for group in groups for arm in group.arms.values()}  # fmt: skip


def _names(arms: Sequence[str]) -> dict[str, str]:
    """Of each arm, or of its position where many share a colour."""
    if len(arms) <= _FEW:
        return {arm: arm for arm in arms}
    return {arm: group.name for group in groups_of(arms) for arm in group.arms.values()}
