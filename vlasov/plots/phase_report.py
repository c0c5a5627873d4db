"""The pictures of `vlasov phase`: outcomes over one or two parameters, or shares of draws."""

__all__ = ["outcome_map", "outcome_shares", "pictures"]

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.collections import PathCollection, QuadMesh
from matplotlib.colors import ListedColormap, LogNorm, Normalize
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import NullFormatter

from vlasov.experiments.phase_axes import PARAMETERS
from vlasov.experiments.report import Report, Table
from vlasov.plots.style import INK, dress, new_figure, note

_BLUES = ("#08306B", "#2171B5", "#6BAED6", "#C6DBEF")
_COLOURS: Mapping[str, Sequence[str]] = {
    "converged": _BLUES,
    "blow-up": ("#D55E00", "#D55E00", "#F2A65A", "#F9D5AE"),
    "exponential divergence": ("#CC79A7", "#CC79A7", "#DDA3C4", "#EED0E1"),
    "diverged": ("#F0E442",),
    "still moving": ("#9E9E9E", "#9E9E9E", "#BDBDBD", "#D9D9D9"),
}
"""Kind -> colour of rank 0, 1, 2, and 3 or more: hues of Okabe and Ito, lighter with the rank."""

_HEIGHT = 2.9
_TIME = "blow-up time $t^*$ (layers × step)"
_WIDE = 10.0  # ratio of the ends of a range from which on it is shown by its logarithm


def pictures(report: Report, settings: Mapping[str, Any]) -> dict[str, Figure]:
    """The outcomes, beside the times of the blow-ups where there are any."""
    cells, names = report.tables["cells"], [axis["name"] for axis in report.result["axes"]]
    blown = any(time is not None for time in cells.column("blow_up_time"))
    figure = new_figure(7.0 if blown else 4.2, _HEIGHT)
    axes = np.atleast_1d(figure.subplots(1, 1 + blown))
    if names:
        outcome_map(report, axes[0])
    else:
        outcome_shares(report, axes[0])
    if blown and len(names) == 2:
        _times_in_the_plane(report, axes[1])
    elif blown and names:
        _times_along(report, axes[1])
    elif blown:
        _histogram_of_times(cells, axes[1])
    return {"phase": figure}


def outcome_map(report: Report, ax: Axes) -> Axes:
    """Draw the outcome of each cell in the plane of its parameters; a single one is the x axis.

    Along one parameter, y is the trace of the covariance at the end.
    """
    cells = report.tables["cells"]
    kinds = list(zip(cells.column("outcome"), cells.column("rank"), strict=True))
    known = sorted(set(kinds), key=_order)
    codes = np.array([known.index(kind) for kind in kinds])
    palette = ListedColormap([_colour(*kind) for kind in known])
    _scatter_or_mesh(report, ax, codes.astype(float), cmap=palette, vmin=-0.5,
                     vmax=len(known) - 0.5)  # fmt: skip
    patches = [
        Patch(color=_colour(*kind), label=_name(*kind, int((codes == i).sum())))
        for i, kind in enumerate(known)
    ]
    _legend(ax, patches)
    return dress(ax)


def outcome_shares(report: Report, ax: Axes) -> Axes:
    """Draw the shares of random draws, with their 95 % intervals."""
    table = report.tables["outcomes"]
    kinds = list(zip(table.column("outcome"), table.column("rank"), strict=True))
    places = np.arange(len(kinds))[::-1]
    shares = _numbers(table.column("share"))
    ends = np.stack([_numbers(table.column(name)) for name in ("low", "high")])
    colours = [_colour(*kind) for kind in kinds]
    ax.barh(places, shares, color=colours, height=0.62)
    ax.errorbar(
        shares, places, xerr=np.abs(ends - shares), fmt="none", ecolor=INK, elinewidth=0.8,
        capsize=2.0,
    )  # fmt: skip
    counts = table.column("count")
    names = [_name(*kind, count) for kind, count in zip(kinds, counts, strict=True)]
    ax.set_yticks(places, names)
    ax.set(xlabel="share of the draws", xlim=(0.0, None))
    note(ax, "95 % intervals", f"{report.result['systems']} draws")
    dress(ax)
    ax.tick_params(axis="y", length=0)
    return ax


def _times_in_the_plane(report: Report, ax: Axes) -> None:
    """The blow-up times as colours; blank where there is none."""
    times = _numbers(report.tables["cells"].column("blow_up_time"))
    low, high = np.nanmin(times), np.nanmax(times)
    wide = high > _WIDE * low
    norm = LogNorm(low, high) if wide else Normalize(0.9 * low, 1.1 * high)
    drawn = _scatter_or_mesh(report, ax, times, cmap="cividis", norm=norm)
    dress(ax)
    bar = ax.figure.colorbar(drawn, cax=ax.inset_axes((1.04, 0.0, 0.05, 1.0)))
    bar.set_label(_TIME)
    bar.outline.set_visible(False)
    bar.ax.yaxis.set_minor_formatter(NullFormatter())
    dress(bar.ax)


def _times_along(report: Report, ax: Axes) -> None:
    """The blow-up times along the one parameter."""
    cells, axis = report.tables["cells"], report.result["axes"][0]
    times = _numbers(cells.column("blow_up_time"))
    ax.scatter(_numbers(cells.column(axis["name"])), times, s=8.0, lw=0, c=_COLOURS["blow-up"][1])
    ax.set(xlabel=PARAMETERS[axis["name"]], ylabel=_TIME)
    _scale(ax.set_xscale, log=axis["log"])
    _scale(ax.set_yscale, log=np.nanmax(times) > _WIDE * np.nanmin(times))
    if ax.get_yscale() == "linear" and np.nanmax(times) > 0:
        ax.set_ylim(0.0, 1.1 * np.nanmax(times))
    dress(ax)


def _histogram_of_times(cells: Table, ax: Axes) -> None:
    times = _numbers(cells.column("blow_up_time"))
    times = times[np.isfinite(times)]
    bins, low, high = min(30, 5 + len(times) // 5), times.min(), times.max()
    wide = high > _WIDE * low
    edges = np.geomspace(low, high, bins) if wide else np.linspace(0.9 * low, 1.1 * high, bins)
    ax.hist(times, bins=edges, color=_COLOURS["blow-up"][1])
    _scale(ax.set_xscale, log=wide)
    ax.set(xlabel=_TIME, ylabel="systems")
    dress(ax)


def _scale(set_scale: Callable[[str], None], *, log: bool) -> None:
    set_scale("log" if log else "linear")


def _scatter_or_mesh(
    report: Report,
    ax: Axes,
    values: Float[np.ndarray, " cells"],
    **style: Any,  # noqa: ANN401 - passed on to matplotlib
) -> QuadMesh | PathCollection:
    """Cells of a grid as rectangles, draws as dots, in the plane of their parameters."""
    cells, axes = report.tables["cells"], report.result["axes"]
    x = _numbers(cells.column(axes[0]["name"]))
    ax.set_xlabel(PARAMETERS[axes[0]["name"]])
    if axes[0]["log"]:
        ax.set_xscale("log")
    if len(axes) == 1:
        trace = np.maximum(_numbers(cells.column("trace")), np.finfo(float).tiny)
        ax.set_ylabel(r"$\mathrm{tr}\,\Sigma$ at the end")
        _scale(ax.set_yscale, log=trace.max() > _WIDE * trace.min())
        return ax.scatter(x, trace, c=values, s=8.0, lw=0, **style)
    ax.set_ylabel(PARAMETERS[axes[1]["name"]])
    if axes[1]["log"]:
        ax.set_yscale("log")
    y = _numbers(cells.column(axes[1]["name"]))
    if not report.result["grid"]:
        return ax.scatter(x, y, c=values, s=8.0, lw=0, **style)
    shape = (axes[1]["count"], axes[0]["count"])
    across, up = x.reshape(shape)[0], y.reshape(shape)[:, 0]
    field = np.ma.masked_invalid(values.reshape(shape))
    return ax.pcolormesh(across, up, field, shading="nearest", rasterized=True, **style)


def _legend(ax: Axes, patches: Sequence[Patch]) -> None:
    ax.legend(
        handles=list(patches), frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5),
        handlelength=1.0, handleheight=1.0,
    )  # fmt: skip


def _order(kind: tuple[Any, Any]) -> tuple[int, int]:
    return list(_COLOURS).index(kind[0]), kind[1]


def _colour(kind: Any, rank: Any) -> str:  # noqa: ANN401 - cells of a table
    shades = _COLOURS[kind]
    return str(shades[min(rank, len(shades) - 1)])


def _name(kind: Any, rank: Any, count: Any) -> str:  # noqa: ANN401 - cells of a table
    return f"{kind}, rank {rank} ({count})"


def _numbers(column: Sequence[Any]) -> Float[np.ndarray, " cells"]:
    return np.array([np.nan if cell is None else float(cell) for cell in column])
