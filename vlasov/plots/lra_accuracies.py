"""Accuracy by position and task: a mean with its interval and seeds, beside the floor."""

__all__ = ["accuracies", "accuracy_page"]

from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from vlasov.experiments.lra_arms import BASELINE
from vlasov.experiments.lra_published import TITLES
from vlasov.experiments.lra_scores import Scores, floor_of, scores_of
from vlasov.experiments.lra_statistics import estimate
from vlasov.experiments.report import Report
from vlasov.plots.lra_arms import Group, colour_of, groups_of, legend_below, scale_name, tasks_of
from vlasov.plots.style import FAINT, INK, dress, new_figure, typeset

_THICK = 0.8  # of the arms of a group, together
_APART = 0.11  # of the seeds from their mean
_LINE = 0.19  # inches for one arm
_ACROSS = 3  # panels in a row
_ENDS = (-0.02, 1.02)  # intervals of few seeds reach beyond what an accuracy can be


def accuracy_page(report: Report) -> Figure:
    """One panel for each task."""
    scores, tasks = scores_of(report.tables["runs"]), tasks_of(report.tables["runs"])
    groups = groups_of(arm for _, arm in scores)
    across = min(_ACROSS, len(tasks))
    down = -(-len(tasks) // across)
    lines = sum(len(group.arms) for group in groups) + len(groups)
    figure = new_figure(7.0, down * (0.8 + _LINE * lines) + 0.4)
    axes = figure.subplots(down, across, sharey=True, squeeze=False).ravel()
    for ax, task in zip(axes, tasks, strict=False):
        accuracies(scores, ax, task, groups, report.result["floors"][task])
        typeset(ax.set_title(TITLES[task], loc="left"), size=9.0)
        dress(ax)
    for ax in axes[len(tasks) :]:
        ax.set_visible(False)
    legend_below(figure, _handles(groups))
    return figure


def accuracies(
    scores: Scores, ax: Axes, task: str, groups: Sequence[Group], floors: Mapping[str, float]
) -> Axes:
    """Draw the mean of every arm of a task with its 95 % interval, and each seed as a small dot.

    The floor is the dashed line, the mean of the baseline the thin one; arms that were not run
    are left blank.
    """
    floor, base = floor_of(floors), scores.get((task, BASELINE), {})
    ax.axvline(floor, color=FAINT, lw=0.9, ls=(0, (4, 2)), zorder=0)
    if base:
        ax.axvline(estimate(list(base.values())).mean or 0.0, color=INK, lw=0.6, zorder=0)
    for row, group in enumerate(groups):
        thick = _THICK / len(group.arms)
        for k, (scales, arm) in enumerate(group.arms.items()):
            place = row - _THICK / 2 + (k + 0.5) * thick
            values = list(scores.get((task, arm), {}).values())
            _arm(ax, (place, place - min(_APART, thick / 3)), values, colour_of(scales))
    ax.set_yticks(range(len(groups)), [group.name for group in groups])
    ax.margins(x=0.04)
    low, high = ax.get_xlim()
    ax.set(xlim=(max(low, _ENDS[0]), min(high, _ENDS[1])))
    ax.set(ylim=(len(groups) - 0.4, -0.6), xlabel="test accuracy")
    ax.tick_params(axis="y", length=0)
    return ax


def _arm(ax: Axes, places: tuple[float, float], values: Sequence[float], colour: str) -> None:
    """The mean with its interval at the first place, the seeds at the second, above it."""
    place, above = places
    found = estimate(values)
    if found.mean is None:
        return
    if found.low is not None and found.high is not None:
        reach = [found.low, found.high]
        ax.plot(reach, [place, place], color=colour, lw=1.4, solid_capstyle="butt")
    ax.plot([found.mean], [place], "D", color=colour, ms=4.5, mew=0.5, mec="white")
    ax.plot(values, [above] * len(values), "o", color=colour, ms=2.2, mew=0.4, mec="white")


def _handles(groups: Sequence[Group]) -> list[Line2D]:
    scales = dict.fromkeys(one for group in groups for one in group.arms if one)
    handles = [
        Line2D([], [], color=colour_of(one), lw=1.4, label=scale_name(one))
        for one in sorted(scales, key=lambda one: (len(one), one))
    ]
    handles.append(Line2D([], [], color=INK, lw=0.6, label="mean of the baseline"))
    handles.append(Line2D([], [], color=FAINT, lw=0.9, ls=(0, (4, 2)), label="floor"))
    handles.append(Line2D([], [], color=INK, lw=1.4, marker="D", ms=4.5, mec="white", mew=0.5,
                          label="mean, 95 % interval"))  # fmt: skip
    handles.append(Line2D([], [], color=INK, lw=0, marker="o", ms=2.2, mew=0.4, mec="white",
                          label="one seed"))  # fmt: skip
    return handles
