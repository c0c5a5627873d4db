"""The pages of a training ablation: curves over the steps, and the sweep over learning rates."""

__all__ = ["best_rate", "sweep_curves", "training_pictures"]

import itertools
import math
from collections.abc import Mapping, Sequence
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
_CROSSES = ("x", "+", "1", "2", "3", "4")  # one for each residual connection


def training_pictures(report: Report, settings: Mapping[str, Any]) -> dict[str, Figure]:
    """A page for each depth and second branch."""
    pages = pages_of(report.tables["sweep"])
    return {
        page_name("training", page, pages): _page(report, page, str(settings["attention"]))
        for page in pages
    }


def sweep_curves(rows: Mapping[Key, Table], ax: Axes) -> Axes:
    """Draw the last loss against the rate; a cross above where a seed diverged.

    The crosses of a network are in a row of its own, of the colour of its scheme and a shape for
    its residual connection.
    """
    ax.set_xscale("log")
    draw_lines(rows, ax, "last_loss", along="rate")
    for line in ax.get_lines():
        line.set(marker="o", markersize=2.5)
    styles, crosses_of = styles_of(list(rows)), _crosses(rows)
    for row, (key, table) in enumerate(rows.items()):
        lost = numbers(table, "rate")[numbers(table, "diverged_seeds") > 0]
        (crosses,) = ax.plot(
            lost, np.full(len(lost), 1.0 - 0.05 * row), crosses_of[key[1]], color=styles[key][0],
            ms=4.5, mew=1.2, transform=ax.get_xaxis_transform(), clip_on=False,
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


def _crosses(rows: Mapping[Key, Table]) -> dict[str, str]:
    """A cross for each residual connection."""
    words = dict.fromkeys(word for _, word in rows)
    return dict(zip(words, itertools.cycle(_CROSSES)))


def _page(report: Report, page: tuple[Any, Any], attention: str) -> Figure:
    chance, rate = float(report.result["chance"]), best_rate(report.tables["sweep"])
    rows = networks(_at_rate(report.tables["training"], rate), page)
    swept = networks(report.tables["sweep"], page)
    several = len(set(report.tables["sweep"].column("rate"))) > 1
    curves = [panel for panel in _PANELS if not panel[2] or _leaves(rows, "loss", chance)]
    sweeps = [close for close in (False, True) if not close or _leaves(swept, "last_loss", chance)]
    figure, axes = _panels(len(curves) + len(sweeps) * several)
    for ax, (measure, label, close) in zip(axes, curves, strict=False):
        ax.set(yscale="linear" if close else "log", xlabel="step", ylabel=label)
        draw_lines(rows, ax, measure, along="step")
        if measure == "loss":
            _mark(chance, ax)
        ax.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=5))
    for ax, close in zip(axes[len(curves) :], sweeps, strict=False):
        ax.set(yscale="linear" if close else "log", xlabel="learning rate", ylabel="last loss")
        sweep_curves(swept, ax)
        _mark(chance, ax)
    _finish(axes, chance)
    at = f"curves at rate {rate:g}" if several else f"rate {rate:g}"
    words = [report.result["task"], second_branch(attention, page), at,
             f"mean of {report.result['samples']}, 95 % bands", "dashed: chance"]  # fmt: skip
    words += ["crosses: diverged"] if several else []
    typeset(figure.suptitle(", ".join(words), x=0.99, ha="right", color=FAINT))
    legend_of(figure, rows, markers=_crosses(swept) if several else {})
    return figure


def _mark(chance: float, ax: Axes) -> None:
    ax.axhline(chance, color=FAINT, lw=0.9, ls=(0, (4, 2)), zorder=0)


def _leaves(rows: Mapping[Key, Table], measure: str, chance: float) -> bool:
    """Whether a line leaves the panel close to chance: if none does, it would show all again."""
    tops = [np.nanmax(numbers(table, measure), initial=-np.inf) for table in rows.values()]
    return bool(max(tops) > _CLOSE * chance)


def _panels(count: int) -> tuple[Figure, list[Axes]]:
    """A page of panels, three in a row unless there are four."""
    columns = 2 if count == 4 else 3
    lines = math.ceil(count / columns)
    figure = new_figure(7.0, 0.4 + 2.2 * lines)
    axes = list(np.ravel(figure.subplots(lines, columns)))
    for spare in axes[count:]:
        spare.remove()
    return figure, axes[:count]


def _finish(axes: Sequence[Axes], chance: float) -> None:
    """Letters, and the vertical axes."""
    letter_panels(axes)
    for ax in axes:
        _vertical(ax, chance)
        dress(ax)


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
                      if line.get_marker() not in _CROSSES)  # fmt: skip
