"""The pictures of an energy: how it falls and at which rate, and what speaks against convexity."""

__all__ = ["pictures"]

from collections.abc import Mapping
from typing import Any

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from vlasov.experiments.report import Report
from vlasov.plots.style import (
    CATEGORIES,
    FAINT,
    INK,
    dress,
    new_figure,
    note,
    number_ticks,
    typeset,
)
from vlasov.plots.trajectories import TIME

_DECADES = 2.0  # a range this wide is read on a logarithmic scale
_MARKS, _BARS = 26, 15
_ROUNDING = 1e-9  # as in the verdict of the report
_BLUE, _ORANGE = CATEGORIES[:2]
_TITLES = {"covariances": r"covariances, $f(\Sigma)$", "clouds": "clouds, $F$"}

Line = Float[np.ndarray, " f"]


def pictures(report: Report, settings: Mapping[str, Any]) -> Mapping[str, Figure]:
    """The figure `energy`, and `convexity` where the report has probes of it."""
    figures = {"energy": _energy_figure(report, settings)}
    if "convexity" in report.tables:
        figures["convexity"] = _convexity_figure(report)
    return figures


def _energy_figure(report: Report, settings: Mapping[str, Any]) -> Figure:
    columns = _columns(report)
    figure = new_figure(7.0, 2.9)
    left, right = figure.subplots(1, 2)
    t = columns["time"]
    left.plot(t, columns["energy"], color=_BLUE, lw=1.3)
    left.set(xlabel=TIME, ylabel="energy $F$")
    _scale(left, columns["energy"])
    note(left, f"{settings['attention']}, {settings['geometry']}", _verdict(report))
    right.plot(t, columns["dissipation"], color=_BLUE, lw=1.3, label="$D$")
    kept = slice(None, None, max(1, len(t) // _MARKS))
    right.plot(
        t[kept], -columns["slope"][kept], "o", mfc="none", ms=4, mew=0.9, color=_ORANGE,
        label=r"$-\mathrm{d}F/\mathrm{d}t$",
    )  # fmt: skip
    right.set(xlabel=TIME, ylabel="rate")
    _scale(right, np.concatenate([columns["dissipation"], -columns["slope"]]))
    right.legend(frameon=False)
    if right.get_yscale() == "linear":
        right.axhline(0.0, color=FAINT, lw=0.6, zorder=0)
    note(
        right,
        rf"largest gap {report.result['gap_over_largest_dissipation']:.2g} of the largest $D$",
    )
    for ax in (left, right):
        dress(ax)
    return figure


def _verdict(report: Report) -> str:
    if not report.result["gradient_flow"]:
        return "no gradient flow"
    return "monotone" if report.result["monotone"] else "not monotone"


def _convexity_figure(report: Report) -> Figure:
    columns = _columns(report)
    drawn = [name for name in _TITLES if f"{name}_relative_gaps" in report.arrays]
    figure = new_figure(2.4 * (1 + len(drawn)) + 0.4, 2.7)
    first, *others = figure.subplots(1, 1 + len(drawn), squeeze=False)[0]
    _bounds(first, columns["time"], columns["lambda_at_most"])
    for name, ax in zip(drawn, others, strict=True):
        _histogram(ax, report.arrays[f"{name}_relative_gaps"].numpy(), _TITLES[name])
    return figure


def _bounds(ax: Axes, t: Line, bound: Line) -> None:
    """The bound on lambda along the run; below 0 it refutes convexity."""
    shown = np.where(np.isfinite(bound), bound, np.nan)
    ax.axhline(0.0, color=INK, lw=0.6, zorder=0)
    ax.plot(t, shown, color=_BLUE, lw=1.3)
    ax.fill_between(t, shown, 0.0, where=shown < 0, color=_ORANGE, alpha=0.35, lw=0)
    ax.set(
        xlabel=TIME,
        ylabel=r"$-\frac{1}{2}\,\mathrm{d}\log D/\mathrm{d}t$, bounds $\lambda$",
    )
    typeset(ax.set_title("along the run", loc="left"), size=9.0)
    if (shown < 0).any():
        note(ax, "below 0 not convex")
    number_ticks(ax.yaxis)
    dress(ax)


def _histogram(ax: Axes, gaps: Line, title: str) -> None:
    span = float(np.abs(gaps).max()) or 1.0
    edges = np.linspace(-span, span, 2 * _BARS + 1)  # 0 is among them
    for side, colour in ((gaps <= 0, _BLUE), (gaps > 0, _ORANGE)):
        if side.any():
            ax.hist(gaps[side], bins=list(edges), color=colour)
    ax.set(xlabel="midpoint above mean of ends, relative", ylabel="geodesics")
    typeset(ax.set_title(title, loc="left"), size=9.0)
    ax.set_ylim(0, 1.15 * ax.get_ylim()[1])
    refuting = int((gaps > _ROUNDING).sum())
    note(ax, f"{refuting} of {len(gaps)} refute it")
    dress(ax)


def _scale(ax: Axes, values: Line) -> None:
    """Logarithmic where all values have one sign and span decades, else plain."""
    low, high = float(values.min()), float(values.max())
    if low > 0 and np.log10(high / low) > _DECADES:
        ax.set_yscale("log")
    elif high < 0 and np.log10(low / high) > _DECADES:
        ax.set_yscale("symlog", linthresh=-high)
    else:
        number_ticks(ax.yaxis)


def _columns(report: Report) -> dict[str, Line]:
    table = report.tables["energy"]
    return {name: np.array(table.column(name), dtype=np.float64) for name in table.columns}
