"""The picture of `vlasov bench`: seconds of every engine against the number of tokens."""

__all__ = ["engine_curves", "pictures"]

from collections.abc import Mapping
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from vlasov.experiments.report import Report, Table
from vlasov.plots.style import CATEGORIES, INK, dress, new_figure, typeset

_ENGINES = ("dense", "tiled", "fused", "direct", "monomials", "tree")
_WIDTH = 2.9


def pictures(report: Report, settings: Mapping[str, Any]) -> dict[str, Figure]:
    """One panel for each radius, at most three; `auto` as open rings."""
    table = report.tables["milliseconds"]
    radii = sorted({float(cell or 0.0) for cell in table.column("R")})[:3]
    figure = new_figure(_WIDTH * len(radii) + 0.6, 3.1)
    axes = figure.subplots(1, len(radii), sharey=True, squeeze=False)[0]
    for ax, radius in zip(axes, radii, strict=True):
        engine_curves(table, ax, radius)
        title = f"{settings['cloud']}, $d = {settings['d']}$, $R = {radius:g}$"
        typeset(ax.set_title(title, loc="left"), size=9.0)
    axes[0].set_ylabel(f"seconds of one sum ({report.result['message']})")
    axes[0].legend(frameon=False, loc="upper left", handlelength=1.4, borderaxespad=0.2)
    for ax in axes:
        dress(ax)
    return {"bench": figure}


def engine_curves(table: Table, ax: Axes, radius: float) -> Axes:
    """Draw the seconds of each engine at one radius."""
    for k, name in enumerate(_ENGINES):
        points = _points(table, radius, name)
        if points:
            ax.plot(*zip(*points, strict=True), "o-", color=CATEGORIES[k], ms=3, lw=1, label=name)
    points = _points(table, radius, "auto")
    look: dict[str, Any] = {"mfc": "none", "mec": INK, "ms": 7, "mew": 0.9, "ls": "none"}
    ax.plot(*zip(*points, strict=True), "o", label="auto", **look)
    ax.set(xscale="log", yscale="log", xlabel="tokens $n$")
    return ax


def _points(table: Table, radius: float, engine: str) -> list[tuple[float, float]]:
    """Tokens and seconds, where the engine was timed."""
    columns = (table.column(name) for name in ("R", "n", engine))
    rows = zip(*columns, strict=True)
    return [(float(n or 0.0), float(spent) / 1e3) for r, n, spent in rows if r == radius and spent]
