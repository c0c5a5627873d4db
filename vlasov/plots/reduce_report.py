"""The pictures of `vlasov reduce`: ellipses along time, and the eigenvalues of the covariance."""

__all__ = ["eigenvalue_curves", "law_ellipses", "law_interval", "pictures"]

from collections.abc import Mapping
from typing import Any

import numpy as np
from jaxtyping import Float, Int
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, NullLocator

from vlasov.experiments.report import Report
from vlasov.plots.outline import outline
from vlasov.plots.paper import paper_pictures
from vlasov.plots.style import CATEGORIES, FAINT, INK, dress, new_figure, note, thinned, typeset

_DEVIATIONS = 2.0
_SHOWN = 6
_WIDEST = 4.0  # times the start: beyond, an ellipse would hide the rest
_LONG = 20.0  # end times beyond it get the axis log(1 + t)
_NAMED = 6  # eigenvalues with a colour of their own
_ZERO = 1e-16  # of the largest eigenvalue met: below, rounding


def pictures(report: Report, settings: Mapping[str, Any]) -> dict[str, Figure]:
    """The law in space beside its eigenvalues along time, or a figure of the paper."""
    if settings.get("figure") is not None:
        return dict(paper_pictures(report))
    figure = new_figure(7.0, 2.9)
    space, spectrum = figure.subplots(1, 2)
    draw = law_interval if report.arrays["mean"].shape[-1] == 1 else law_ellipses
    draw(report, space)
    eigenvalue_curves(report, spectrum)
    return {"law": figure}


def law_ellipses(report: Report, ax: Axes) -> Axes:
    """Draw the law as ellipses of two standard deviations, early ones dark.

    Shown are frames between which the ellipse changes by equal amounts, up to the size at which
    one would hide the others. Laws with three coordinates or more are projected on the two
    leading axes of the last one shown.
    """
    times, mean, cov = (_numpy(report, name) for name in ("times", "mean", "cov"))
    kept = np.arange(_fitting(cov))
    remark, axis = "", ("$x_1$", "$x_2$")
    if mean.shape[-1] > 2:
        plane = np.linalg.eigh(cov[kept[-1]])[1][:, :-3:-1]
        mean, cov = mean @ plane, plane.T @ cov @ plane
        remark, axis = "projected", ("leading axis", "second axis")
    curves = np.stack([outline(mean[i], cov[i], _DEVIATIONS) for i in kept])
    chosen = _spread(curves)
    ax.plot(*mean[kept].T, color=FAINT, lw=0.8, zorder=1)
    for k, shade in zip(chosen, np.linspace(0.0, 0.85, len(chosen)), strict=True):
        colour = colormaps["viridis"](shade)
        ax.plot(*curves[k], color=colour, lw=1.3, label=f"$t = {_written(float(times[k]))}$")
        ax.plot(*mean[k], color=colour, marker="o", ms=2.5)
    ax.set(xlabel=axis[0], ylabel=axis[1])
    ax.set_aspect("equal", adjustable="datalim")
    ax.legend(frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5), handlelength=1.2)
    note(ax, f"{_DEVIATIONS:g} standard deviations", remark)
    return dress(ax)


def law_interval(report: Report, ax: Axes) -> Axes:
    """Draw a law on the line: mean, and two standard deviations to either side, along time."""
    times, mean, cov = (_numpy(report, name) for name in ("times", "mean", "cov"))
    count = _fitting(cov)
    t, centre, width = times[:count], mean[:count, 0], _DEVIATIONS * np.sqrt(cov[:count, 0, 0])
    ax.fill_between(t, centre - width, centre + width, color=CATEGORIES[0], alpha=0.25, lw=0)
    ax.plot(t, centre, color=CATEGORIES[0], lw=1.3)
    ax.set_ylabel("$x$")
    _time_axis(ax, float(times[-1]))
    note(ax, f"mean and {_DEVIATIONS:g} standard deviations")
    return dress(ax)


def eigenvalue_curves(report: Report, ax: Axes) -> Axes:
    """Draw the eigenvalues of the covariance on a logarithmic scale, and where they blow up.

    The closed form, where the report has it, is dotted over the curves.
    """
    table = report.tables["law"]
    times = np.array(table.column("t"), dtype=float)
    names = [name for name in table.columns if name.startswith("eigenvalue_")]
    values = np.array([table.column(name) for name in names], dtype=float)
    floor = _ZERO * values.max()
    for i, curve in enumerate(values):
        shown = np.where(curve > floor, curve, np.nan)
        if i < _NAMED:
            ax.plot(times, shown, color=CATEGORIES[i], lw=1.3, label=rf"$\lambda_{i + 1}$")
        else:
            ax.plot(times, shown, color=FAINT, lw=0.6)
    _closed_form(report, ax, floor)
    ax.set_yscale("log")
    ax.set_ylabel(r"eigenvalues of $\Sigma(t)$")
    end = report.result.get("blow_up_time")
    _time_axis(ax, float(times[-1]))
    if end is not None:
        ax.axvline(end, color=INK, lw=0.8, ls="--", label=f"$t^* = {end:.6g}$")
    ax.legend(frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5), handlelength=1.4)
    return dress(ax)


def _written(t: float) -> str:
    return f"{t:.3g}" if t < 1000 else f"{t:.0f}"


def _closed_form(report: Report, ax: Axes, floor: float) -> None:
    table = report.tables["law"]
    names = [name for name in table.columns if name.startswith("exact_eigenvalue_")]
    for i, name in enumerate(names):
        rows = [
            (t, x)
            for t, x in zip(table.column("t"), table.column(name), strict=True)
            if isinstance(t, int | float) and isinstance(x, int | float) and x > floor
        ]
        kept = [rows[k] for k in thinned(len(rows), 15)] if rows else []
        points = np.array(kept, dtype=float).reshape(-1, 2)
        label = "closed form" if i == 0 else None
        ax.plot(*points.T, color=INK, ls="none", marker="o", ms=2.2, mew=0, label=label)


def _time_axis(ax: Axes, end: float) -> None:
    """Time from 0; long runs by log(1 + t), since limits are approached as 1/t."""
    ax.set_xlabel("time $t$ (layers × step)")
    if end <= _LONG:
        ax.set_xlim(left=0.0)
        return
    ax.set_xscale("function", functions=(np.log1p, np.expm1))
    ax.set_xlim(0.0, end)
    powers = 10.0 ** np.arange(0, np.floor(np.log10(end)) + 1)
    ax.xaxis.set_major_locator(FixedLocator([0.0, *powers]))
    ax.xaxis.set_minor_locator(NullLocator())
    for label in ax.get_xticklabels():
        typeset(label)


def _fitting(cov: Float[np.ndarray, "f d d"]) -> int:
    """How many frames, from the first on, are no wider than a few times the start."""
    widths = np.sqrt(np.maximum(np.linalg.eigvalsh(cov)[:, -1], 0.0))
    if widths[0] == 0:
        return len(widths)
    too_wide = np.flatnonzero(widths > _WIDEST * widths[0])
    return int(too_wide[0]) if len(too_wide) else len(widths)


def _spread(curves: Float[np.ndarray, "f 2 k"]) -> Int[np.ndarray, " shown"]:
    """Frames between which the curve changes by about equal amounts, the first and last too."""
    steps = np.linalg.norm(np.diff(curves, axis=0), axis=1).max(axis=1)
    travelled = np.concatenate([[0.0], np.cumsum(steps)])
    wanted = np.linspace(0.0, travelled[-1], _SHOWN)
    return np.unique(np.abs(travelled[:, None] - wanted).argmin(axis=0))


def _numpy(report: Report, name: str) -> Float[np.ndarray, "..."]:
    return report.arrays[name].double().numpy()
