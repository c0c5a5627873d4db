"""The page of `vlasov diffuse`: responses, bands, energy along steps, and the kernel."""

__all__ = ["band_bars", "energy_curves", "kernel_curves", "pictures", "response_curves"]

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from vlasov.experiments.diffuse_tables import ENERGIES
from vlasov.experiments.report import Report, Table
from vlasov.plots.style import CATEGORIES, FAINT, INK, dress, letter_panels, new_figure

_BANDS = ("low", "mid-low", "mid-high", "high")
_HATCHES = {"ours": "", "alpha left out": "//", "paper": "xx"}
_SMALLEST = 1e-20


def pictures(report: Report, settings: Mapping[str, Any]) -> dict[str, Figure]:
    """One page of four panels."""
    figure = new_figure(7.0, 5.4)
    axes = figure.subplots(2, 2)
    letter_panels(axes.flat)
    response_curves(report, axes[0, 0])
    axes[0, 0].set_title(f"response of a step, $\\alpha = {settings['alpha']:g}$")
    band_bars(report.tables["bands"], axes[0, 1])
    energy_curves(report.tables["energy"], axes[1, 0])
    kernel_curves(report.tables["kernel"], axes[1, 1])
    for ax in axes.flat:
        dress(ax)
    return {"diffuse": figure}


def response_curves(report: Report, ax: Axes) -> Axes:
    """Draw the response of each scale alone and, thick, of the mixture."""
    arrays = {name: array.double().numpy() for name, array in report.arrays.items()}
    omega = arrays.pop("omega") / np.pi
    mixture = arrays.pop("mixture")
    ax.axhline(0.0, color=FAINT, lw=0.6)
    for (name, curve), colour in zip(arrays.items(), CATEGORIES, strict=False):
        ax.plot(omega, curve, color=colour, lw=1.0, label=f"${name}$")
    ax.plot(omega, mixture, color=INK, lw=1.8, label="mixture")
    ax.set(xlabel=r"frequency $\omega/\pi$", ylabel=r"$H(\omega)$", xlim=(0.0, 1.0))
    ax.legend(frameon=False, loc="lower left", handlelength=1.4, ncols=2)
    return ax


def band_bars(table: Table, ax: Axes) -> Axes:
    """Draw the means over the bands for scale 1 and the mixture: ours, without alpha, printed."""
    groups = [name for name in dict.fromkeys(table.column("response")) if name in _shown(table)]
    sources = list(dict.fromkeys(table.column("source")))
    width = 0.8 / len(sources)
    for g, group in enumerate(groups):
        for k, source in enumerate(sources):
            rows = [r for r in table.rows if r[0] == group and r[1] == source]
            if not rows:
                continue
            heights = [float(cell or 0.0) for cell in rows[0][2:]]
            places = np.arange(4) + 5 * g + (k - (len(sources) - 1) / 2) * width
            label = str(source) if g == 0 else None
            ax.bar(places, heights, 0.9 * width, color=CATEGORIES[k], label=label)
    ticks = [(5 * g + b, name) for g in range(len(groups)) for b, name in enumerate(_BANDS)]
    ax.set_xticks([x for x, _ in ticks], [name for _, name in ticks], rotation=40)
    for g, group in enumerate(groups):
        ax.annotate(
            str(group), (5 * g + 1.5, 0.93), xycoords=("data", "axes fraction"), ha="center"
        )
    ax.set(ylabel=r"mean of $|H|$ in a band", ylim=(0.0, 3.3))
    return _legend_above(ax, 3)


def _legend_above(ax: Axes, columns: int) -> Axes:
    """Curves and bars fill these panels."""
    look: dict[str, Any] = {"handlelength": 1.6, "columnspacing": 1.2, "borderaxespad": 0.2}
    ax.legend(frameon=False, loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=columns, **look)
    return ax


def _shown(table: Table) -> tuple[object, ...]:
    """The first scale and the mixture: four groups would leave no room for labels."""
    return table.rows[0][0], "mixture"


def energy_curves(table: Table, ax: Axes) -> Axes:
    """Draw the energy along the steps, over that at the start; dashed with a norm."""
    steps = np.array(table.column("step"), dtype=float)
    for k, name in enumerate(ENERGIES):
        values = np.array(table.column(name), dtype=float)
        style = "--" if name.endswith("norm") else "-"
        shown = np.maximum(values / values[0], _SMALLEST)
        ax.plot(steps, shown, style, color=CATEGORIES[k // 2], lw=1.3, label=name)
    ax.set(yscale="log", xlabel="step", ylabel="Dirichlet energy / start")
    return _legend_above(ax, 2)


def kernel_curves(table: Table, ax: Axes) -> Axes:
    """Draw the kernel at time 1 and its integral over the distance, with 1/r and exp(-r)."""
    r = np.array(table.column("r"), dtype=float)
    looks: dict[str, dict[str, Any]] = {
        "kernel at t=1": {"color": CATEGORIES[0], "marker": "o"},
        "integral to t=50": {"color": CATEGORIES[2], "marker": "s"},
        "1/r": {"color": FAINT, "ls": "-"},
        "exp(-r)": {"color": INK, "ls": "--", "marker": ""},
    }
    for name, look in looks.items():
        values = np.array([np.nan if x is None else x for x in table.column(name)], dtype=float)
        ax.plot(r, values, lw=1.0, ms=3, label=name, **look)
    ax.set(yscale="log", ylim=(_SMALLEST, 10.0), xlim=(0, 80), xlabel="distance $r$ in tokens")
    ax.set_ylabel("heat")
    return _legend_above(ax, 2)
