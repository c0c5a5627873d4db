r"""What trained diffusion layers do to each frequency along the positions.

.. math:: H(\omega) = 1 - 4 \sum_h w_h \alpha_h \sin^2(\omega h / 2)

with the strengths as means over channels. Layers between heads, and arms with further options,
have another response and are left out.
"""

__all__ = ["response", "response_curves", "response_page"]

from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from vlasov.experiments.lra_arms import Arm
from vlasov.experiments.lra_published import TITLES
from vlasov.experiments.report import Report, Table
from vlasov.plots.lra_arms import colour_of, groups_of, legend_below, scale_name, tasks_of
from vlasov.plots.style import FAINT, dress, new_figure, typeset

Rates = Mapping[int, float]
"""Scale -> weight times strength."""

_OMEGA = np.linspace(0.0, np.pi, 181)
_START = 0.1  # strength of a layer before training
_ACROSS = 3
_OTHER_AXIS = "across-heads"


def response_page(report: Report) -> Figure | None:
    """One panel for each position and task with layers along positions; None without any."""
    table = report.tables["alphas"]
    panels = [
        (task, group.name, list(group.arms.values()))
        for task in tasks_of(table)
        for group in groups_of(_arms(table, task))
    ]
    if not panels:
        return None
    across = min(_ACROSS, len(panels))
    down = -(-len(panels) // across)
    figure = new_figure(0.5 + 2.2 * across, 0.5 + 1.9 * down)
    axes = figure.subplots(down, across, sharex=True, sharey=True, squeeze=False)
    for ax, (task, name, arms) in zip(axes.flat, panels, strict=False):
        response_curves(table, ax, task, arms)
        typeset(ax.set_title(f"{TITLES[task]}, {name}", loc="left"), size=9.0)
        dress(ax)
    for ax in axes.flat[len(panels) :]:
        ax.set_visible(False)
    for ax in axes.flat[max(0, len(panels) - across) : len(panels)]:  # nothing below them
        ax.set_xlabel(r"frequency $\omega$")
        ax.tick_params(labelbottom=True)
        dress(ax)
    for ax in axes[:, 0]:
        ax.set_ylabel(r"$H(\omega)$")
        dress(ax)
    legend_below(figure, _handles([arm for _, _, arms in panels for arm in arms]))
    return figure


def response_curves(table: Table, ax: Axes, task: str, arms: Sequence[str]) -> Axes:
    """Draw the mean of every arm over layers and seeds, with its range, and its start dashed."""
    for arm in arms:
        layers = _layers(table, task, arm)
        curves = np.stack([response(rates) for rates in layers])
        colour = colour_of(_scales(arm))
        ax.plot(_OMEGA, curves.mean(0), color=colour, lw=1.2)
        ax.fill_between(_OMEGA, curves.min(0), curves.max(0), color=colour, alpha=0.2, lw=0)
        ax.plot(_OMEGA, response(_start(layers[0])), color=colour, lw=0.8, ls=(0, (4, 2)))
    ax.axhline(0.0, color=FAINT, lw=0.6, zorder=0)
    ax.set_xticks([0, np.pi / 2, np.pi], ["0", r"$\pi/2$", r"$\pi$"])
    low = min(0.0, ax.dataLim.y0)
    ax.set(xlim=(0, np.pi), ylim=(low - 0.05, 1.05))
    for label in ax.get_xticklabels():
        typeset(label)
    return ax


def response(rates: Rates) -> Float[np.ndarray, " frequencies"]:
    """H at the frequencies of the pictures."""
    waves = [rate * np.sin(_OMEGA * h / 2) ** 2 for h, rate in rates.items()]
    return 1 - 4 * np.sum(waves, axis=0)


def _arms(table: Table, task: str) -> list[str]:
    """The arms of a task whose layers have this response."""
    rows = zip(table.column("task"), table.column("diffusion"), strict=True)
    arms = dict.fromkeys(str(arm) for name, arm in rows if name == task)
    places = {arm: Arm(arm).place for arm in arms}
    return [arm for arm, place in places.items() if place and place[0] != _OTHER_AXIS]


def _scales(arm: str) -> tuple[int, ...]:
    place = Arm(arm).place
    return () if place is None else place[1]


def _layers(table: Table, task: str, arm: str) -> list[Rates]:
    """The rates of every layer of every seed."""
    found: dict[tuple[object, object], dict[int, float]] = {}
    for name, diffusion, seed, layer, h, alpha, weight in table.rows:
        if (name, diffusion) == (task, arm) and alpha is not None and weight is not None:
            found.setdefault((seed, layer), {})[int(h or 0)] = float(alpha) * float(weight)
    return list(found.values())


def _start(rates: Rates) -> Rates:
    """The rates before training: equal strengths, shares 1 : 0.6 : 0.3."""
    shares = dict(zip(sorted(rates), (1.0, 0.6, 0.3), strict=False))
    return {h: _START * share / sum(shares.values()) for h, share in shares.items()}


def _handles(arms: Sequence[str]) -> list[Line2D]:
    scales = sorted({_scales(arm) for arm in arms}, key=lambda one: (len(one), one))
    handles = [Line2D([], [], color=colour_of(one), lw=1.4, label=scale_name(one))
               for one in scales]  # fmt: skip
    return [*handles, Line2D([], [], color=FAINT, lw=0.8, ls=(0, (4, 2)), label="before training")]
