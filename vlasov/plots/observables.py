"""An observable over time, with what happened marked where it happened."""

__all__ = ["observables"]

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from vlasov.catalogue import nearest
from vlasov.errors import InvalidValue
from vlasov.plots.members import first_member
from vlasov.plots.style import CATEGORIES, FAINT, INK, dress, note, number_ticks, require_flat
from vlasov.plots.trajectories import TIME
from vlasov.run import Run

_DECADES = 2.0  # a range this wide is read on a logarithmic scale
_WORD, _ROW = 0.45, 0.13  # width and height of an event's name, in shares of the axes


def observables(run: Run, ax: Axes, name: str) -> Axes:
    """Draw one recorded observable; of a batch, that of the first cloud up to its own end.

    Numbers are a line, whole numbers a staircase, up to eight components a line each and more of
    them an image. Positive values that span more than two decades get a logarithmic scale. Values
    that are not finite leave a gap and are counted above the axes. Events and an early stop are
    vertical lines.

    Raises:
        InvalidValue: for 3-D axes or a run that recorded no observable.
        UnknownName: for an observable the run does not hold.
    """
    require_flat(ax, wanted="An observable over time")
    if not run.observables:
        raise InvalidValue(
            f"The run recorded no observable but '{name}' was asked for. "
            "Simulate again with `observe=` and its name."
        )
    if name not in run.observables:
        raise nearest(name, run.observables, kind="observable of the run")
    one = first_member(run)
    value = one.observables[name].detach().cpu().double().numpy()
    _draw(ax, one.times.detach().cpu().double().numpy(), value.reshape(len(value), -1), name)
    _mark(ax, one)
    gaps = int((~np.isfinite(value)).sum())
    if gaps:
        note(ax, f"{gaps} of {value.size} values not finite")
    return dress(ax)


def _draw(
    ax: Axes, t: Float[np.ndarray, " f"], value: Float[np.ndarray, "f k"], name: str
) -> None:
    label = name.replace("_", " ").replace("-", " ")
    ax.set(xlabel=TIME, ylabel=label)
    if value.shape[1] > len(CATEGORIES):
        _image(ax, t, value, label)
        return
    finite = value[np.isfinite(value)]
    names = [f"{k + 1}" for k in range(value.shape[1])] if value.shape[1] > 1 else [None]
    whole = bool((finite == np.round(finite)).all())
    for k, (line, colour) in enumerate(zip(value.T, CATEGORIES, strict=False)):
        style = "steps-post" if whole else "default"
        shown = np.where(np.isfinite(line), line, np.nan)
        ax.plot(t, shown, color=colour, lw=1.2, label=names[k], drawstyle=style)
    if whole:
        ax.yaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    elif _wide(finite):
        ax.set_yscale("log")
    else:
        number_ticks(ax.yaxis)


def _wide(finite: Float[np.ndarray, " k"]) -> bool:
    if not len(finite) or finite.min() <= 0:
        return False
    return bool(np.log10(finite.max()) - np.log10(finite.min()) > _DECADES)


def _image(
    ax: Axes, t: Float[np.ndarray, " f"], value: Float[np.ndarray, "f k"], label: str
) -> None:
    rows = np.arange(1, value.shape[1] + 1)
    shown = np.ma.masked_invalid(value.T)
    ax.pcolormesh(t, rows, shown, shading="nearest", cmap="cividis", rasterized=True)
    ax.set_ylabel(f"component of {label}")


def _mark(ax: Axes, run: Run) -> None:
    """A vertical line at each event and at an early stop, named in rows above the curve."""
    for event in run.events:
        ax.axvline(event.time, color=FAINT, lw=0.6, ls=(0, (3, 2)), zorder=0)
    if not run.finished:
        ax.axvline(run.stopped_at, color=INK, lw=0.9, zorder=0)
    low, high = ax.get_xlim()
    labels = _rows(run, (high - low) * _WORD)
    room = _ROW * (1 + max((row for row, _, _ in labels), default=-1))
    _make_room(ax, room)
    if ax.get_legend_handles_labels()[1]:
        below = (0.0, 0.0, 1.0, 1.0 / (1.0 + room))
        ax.legend(frameon=False, ncols=2, handlelength=1.0, loc="best", bbox_to_anchor=below)
    for row, time, text in labels:
        late = time > low + 0.6 * (high - low)
        ax.annotate(
            text,
            (time, 1.0),
            (-2 if late else 2, -1 - 9 * row),
            xycoords=ax.get_xaxis_transform(),
            textcoords="offset points",
            ha="right" if late else "left",
            va="top",
        )


def _rows(run: Run, close: float) -> list[tuple[int, float, str]]:
    """Row, time and text of each name; one that would run into its neighbour goes a row down."""
    times = {event.name: event.time for event in reversed(run.events)}
    if not run.finished:
        times[run.status] = run.stopped_at
    labels: list[tuple[int, float, str]] = []
    for time, name in sorted((time, name) for name, time in times.items()):
        count = sum(event.name == name for event in run.events)
        row = labels[-1][0] + 1 if labels and time - labels[-1][1] < close else 0
        labels.append((row, time, f"{name} (×{count})" if count > 1 else name))
    return labels


def _make_room(ax: Axes, share: float) -> None:
    """Raise the upper limit by a share of the range, whatever the scale."""
    scale = ax.yaxis.get_transform()
    low, high = scale.transform(ax.get_ylim())
    bounds = scale.inverted().transform([low, high + share * (high - low)])
    ax.set_ylim(*bounds)
