"""The pictures of a convergence study: errors against n, and the bias of distances."""

__all__ = ["bias", "errors", "pictures"]

from collections.abc import Mapping
from typing import Any

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import (
    FixedLocator,
    FormatStrFormatter,
    LogFormatterMathtext,
    LogLocator,
    NullFormatter,
    NullLocator,
)

from vlasov.experiments.report import Report, Table
from vlasov.plots.style import CATEGORIES, FAINT, INK, dress, new_figure, typeset

_MARKERS = ("o", "s", "^", "D", "v")
_LABELS = {
    "coupling": "coupling (rms)",
    "mean": r"mean $|m^n - m|$",
    "covariance": r"covariance $\|\Sigma^n - \Sigma\|_F$",
    "observable": r"observable $\cos(e\cdot x - \pi/4)$",
}
_TOKENS = "tokens $n$"
_MANY = 30.0  # beyond this ratio an axis is marked by powers of ten alone


def pictures(report: Report, settings: Mapping[str, Any]) -> dict[str, Figure]:
    """The figure `convergence`: moments beside the distance; and `bias` for wide tokens."""
    figure = new_figure(7.0, 3.4)
    left, right = figure.subplots(1, 2, sharex=True)
    distance = f"$W_{settings['p']:g}$"
    errors(report, left, _LABELS)
    errors(report, right, {"distance": distance})
    left.set_ylabel(f"error at $t = {settings['time']:g}$")
    right.set_ylabel(f"{distance} to {report.result['distance_to']}")
    found = {"convergence": figure}
    if "journey" in report.tables:
        found["bias"] = new_figure(3.6, 3.2)
        bias(report.tables["journey"], found["bias"].add_subplot())
    return found


def errors(report: Report, ax: Axes, labels: Mapping[str, str]) -> Axes:
    """Draw errors of these names against n: means with 95 % bands, fits and expected rates."""
    table, rates = report.tables["errors"], set[float]()
    for k, (name, label) in enumerate(labels.items()):
        rows = [row[1:] for row in table.rows if row[0] == name]
        n, value, low, high = np.array(rows, dtype=np.float64).T
        fit = _fit(report.tables["slopes"], name)
        line = np.exp(fit["intercept"]) * n ** fit["slope"]
        text = f"{label}: ${fit['slope']:.3f} \\pm {(fit['high'] - fit['low']) / 2:.3f}$"
        ax.fill_between(n, low, high, color=CATEGORIES[k], alpha=0.2, lw=0)
        ax.plot(n, line, color=CATEGORIES[k], lw=1.0)
        ax.plot(n, value, _MARKERS[k], color=CATEGORIES[k], ms=4, label=text)
        # the expected slopes from the start of the fit: one, or both ends of their interval
        ends = {fit["steepest"], fit["flattest"]}
        rates |= ends
        for rate in sorted(ends):
            expected = line[0] * (n / n[0]) ** rate
            ax.plot(n, expected, color=FAINT, lw=0.9, ls=(0, (4, 2)), zorder=0)
    root = " $n^{-1/2}$" if rates == {-0.5} else ""
    ax.plot([], [], color=FAINT, lw=0.9, ls=(0, (4, 2)), label=f"expected rate{root}")
    return _axes(ax, table)


def _fit(slopes: Table, name: str) -> dict[str, float]:
    """The numbers in the row of one error."""
    k = slopes.column("error").index(name)
    wanted = ("slope", "low", "high", "intercept", "steepest", "flattest")
    return {key: float(_numbers(slopes, key)[k]) for key in wanted}


def _axes(ax: Axes, table: Table) -> Axes:
    ax.set(xscale="log", yscale="log", xlabel=_TOKENS)
    low, high = ax.get_ylim()
    ax.set_ylim(low, high * (high / low) ** 0.45)  # room for the legend
    ax.legend(frameon=False, loc="upper right", handlelength=1.6, borderaxespad=0.2)
    if high / low > _MANY:
        _powers(ax.yaxis)
    else:
        ax.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 3.0, 5.0)))
        ax.yaxis.set_major_formatter(FormatStrFormatter("%g"))
        ax.yaxis.set_minor_formatter(NullFormatter())
    return _ticks(ax, table)


def _ticks(ax: Axes, table: Table) -> Axes:
    """A tick at every measured n, or at the powers of ten among many."""
    n = np.unique(_numbers(table, "n"))
    if n[-1] / n[0] > _MANY:
        _powers(ax.xaxis)
    else:
        ax.xaxis.set_major_locator(FixedLocator(n.tolist()))
        ax.xaxis.set_minor_locator(NullLocator())
        ax.xaxis.set_major_formatter(FormatStrFormatter("%g"))
    return dress(ax)


def _powers(axis: Axis) -> None:
    """Label powers of ten, and mark the numbers between them."""
    axis.set_major_locator(LogLocator())
    axis.set_major_formatter(LogFormatterMathtext())
    axis.set_minor_locator(LogLocator(subs="auto"))
    axis.set_minor_formatter(NullFormatter())
    for label in axis.get_ticklabels():
        typeset(label)


def _numbers(table: Table, name: str) -> Float[np.ndarray, " rows"]:
    return np.array(table.column(name), dtype=np.float64)


def bias(table: Table, ax: Axes) -> Axes:
    """Draw readings of the distance from start to end: by transport, by moments, and exact."""
    n = _numbers(table, "n")
    labels = {"journey": "optimal transport of two clouds", "moment_journey": "their moments"}
    for k, (name, label) in enumerate(labels.items()):
        value = _numbers(table, name)
        ax.plot(n, value, _MARKERS[k], ls="-", lw=1.0, ms=4, color=CATEGORIES[k], label=label)
    ax.axhline(_numbers(table, "exact")[0], color=INK, lw=0.9, ls=(0, (4, 2)), label="exact")
    ax.set(xscale="log", xlabel=_TOKENS, ylabel=r"$W_2(\mu(0), \mu(t))$", ylim=(0, None))
    low, high = ax.get_ylim()
    ax.set_ylim(low, high * 1.3)
    ax.legend(frameon=False, loc="upper right")
    return _ticks(ax, table)
