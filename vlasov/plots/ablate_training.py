"""The pages of a training ablation: curves over the steps, and the sweep over learning rates."""

__all__ = ["best_rate", "sweep_curves", "training_pictures"]

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, MaxNLocator, NullLocator

from vlasov.experiments.report import Report, Table
from vlasov.plots.ablate_lines import (
    Key,
    draw_lines,
    legend_of,
    networks,
    numbers,
    page_name,
    pages_of,
    powers_of_ten,
    second_branch,
    styles_of,
)
from vlasov.plots.style import (
    FAINT,
    dress,
    letter_panels,
    new_figure,
    number_ticks,
    typeset,
)

_PANELS = (
    ("loss", "loss (nats)", False),
    ("loss", "loss, close to chance", True),
    ("gradient", r"gradient $|\nabla\,\mathrm{loss}|$", False),
    ("update_ratio", r"update $|\Delta W| / |W|$", False),
)
"""Measure, axis label, and whether the panel shows what is close to chance alone."""

_DECADES = 100.0  # a range this wide is marked by powers of ten
_CLOSE = 1.12  # in units of chance: the upper end of the panels close to it


def training_pictures(report: Report, settings: Mapping[str, Any]) -> dict[str, Figure]:
    """A page for each depth and second branch."""
    pages = pages_of(report.tables["sweep"])
    return {
        page_name("training", page, pages): _page(report, page, str(settings["attention"]))
        for page in pages
    }


def sweep_curves(rows: Mapping[Key, Table], ax: Axes) -> Axes:
    """Draw the last loss against the rate; a cross above where a seed diverged.

    The crosses of a network are in a row of its own.
    """
    ax.set_xscale("log")
    draw_lines(rows, ax, "last_loss", along="rate")
    for line in ax.get_lines():
        line.set(marker="o", markersize=2.5)
    styles = styles_of(list(rows))
    for row, (key, table) in enumerate(rows.items()):
        lost = numbers(table, "rate")[numbers(table, "diverged_seeds") > 0]
        (crosses,) = ax.plot(
            lost, np.full(len(lost), 1.0 - 0.05 * row), "x", color=styles[key][0], ms=4, mew=1.2,
            transform=ax.get_xaxis_transform(), clip_on=False,
        )  # fmt: skip
        crosses.set_in_layout(False)
    powers_of_ten(ax.xaxis)
    return ax


def best_rate(sweep: Table) -> float:
    """The rate of the lowest last loss among those where no network diverged.

    Where there is none, the smallest rate.
    """
    rates, lost = numbers(sweep, "rate"), numbers(sweep, "diverged_seeds")
    whole = ~np.isin(rates, rates[lost > 0])
    if not whole.any():
        return float(rates.min())
    return float(rates[whole][np.argmin(numbers(sweep, "last_loss")[whole])])


def _page(report: Report, page: tuple[Any, Any], attention: str) -> Figure:
    sweep, chance = report.tables["sweep"], float(report.result["chance"])
    several, rate = len(set(sweep.column("rate"))) > 1, best_rate(sweep)
    figure = new_figure(7.0, 4.8)
    axes = list(figure.subplots(2, 3 if several else 2).flat)
    rows = networks(_at_rate(report.tables["training"], rate), page)
    for ax, (measure, label, close) in zip(axes, _PANELS, strict=False):
        ax.set(yscale="linear" if close else "log", xlabel="step", ylabel=label)
        draw_lines(rows, ax, measure, along="step")
        ax.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=5))
    for ax, close in zip(axes[4:], (False, True), strict=False):
        ax.set(yscale="linear" if close else "log", xlabel="learning rate", ylabel="last loss")
        sweep_curves(networks(sweep, page), ax)
    for ax in axes[:2] + axes[4:]:
        ax.axhline(chance, color=FAINT, lw=0.9, ls=(0, (4, 2)), zorder=0)
    letter_panels(axes)
    for ax in axes:
        _vertical(ax, chance)
        dress(ax)
    at = f"curves at rate {rate:g}" if several else f"rate {rate:g}"
    words = [report.result["task"], second_branch(attention, page), at,
             f"mean of {report.result['samples']}, 95 % bands", "dashed: chance"]  # fmt: skip
    words += ["crosses: diverged"] if several else []
    typeset(figure.suptitle(", ".join(words), x=0.99, ha="right", color=FAINT))
    legend_of(figure, rows)
    return figure


def _at_rate(curves: Table, rate: float) -> Table:
    """The curves of one rate."""
    place = curves.columns.index("rate")
    return Table(curves.columns, tuple(row for row in curves.rows if row[place] == rate))


def _vertical(ax: Axes, chance: float) -> None:
    """Powers of ten where the values span them; a linear panel ends close above chance."""
    low, high = ax.get_ylim()
    if ax.get_yscale() == "linear":
        ax.set_ylim(min(_lowest(ax), chance / _CLOSE), chance * _CLOSE)
    elif high > _DECADES * low:
        powers_of_ten(ax.yaxis)
    else:
        ax.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        number_ticks(ax.yaxis)
        ax.yaxis.set_minor_locator(NullLocator())


def _lowest(ax: Axes) -> float:
    """Just below the lowest loss of any line."""
    return 0.97 * min(float(np.nanmin(line.get_ydata(), initial=np.inf)) for line in ax.get_lines()
                      if line.get_marker() != "x")  # fmt: skip
