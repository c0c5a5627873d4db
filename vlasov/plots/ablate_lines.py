"""The lines of an ablation: one for each network, colour by scheme, dashes by residual."""

__all__ = [
    "Key",
    "draw_lines",
    "legend_of",
    "networks",
    "numbers",
    "page_name",
    "pages_of",
    "powers_of_ten",
    "second_branch",
    "styles_of",
]

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import LogFormatterMathtext, LogLocator, NullLocator

from vlasov.experiments.ablate_cases import FLOW, OWN
from vlasov.experiments.report import Table
from vlasov.plots.style import CATEGORIES, FAINT, INK, typeset

_DASHES = {"on": (), "off": (4.0, 2.0), "flow": ()}
_OTHER_DASHES = ((1.0, 1.5), (5.0, 1.5, 1.0, 1.5), (7.0, 2.0))
_SCHEMES = {"none": "no norm", OWN: "own norm"}
_NAMES = {
    "on": "residual",
    "off": "no residual",
    "attention": "residual of attention only",
    "mlp": "residual of MLP only",
    "1/sqrt(L)": r"residual, branches $/\sqrt{L}$",
    "1/L": "residual, branches $/L$",
    "rezero": "residual, branches from 0",
    "learned": "residual, branches scaled",
}
_LONG = 18  # letters of a name that takes two places in the legend
_FEW = 8  # networks whose bands can be told apart
_TINY = 1e-17  # below: a rank-one cloud up to rounding
_HUGE = 1e200  # above: ticks past the largest float

_Style = str | tuple[float, tuple[float, ...]]
Key = tuple[str, str]
"""Scheme and residual."""

Page = tuple[Any, Any]
"""Depth and second branch."""


def pages_of(table: Table) -> list[Page]:
    """The pages of a table whose rows begin with depth and second branch."""
    return list(dict.fromkeys((row[0], row[1]) for row in table.rows))


def networks(table: Table, page: Page) -> dict[Key, Table]:
    """The rows of each network on a page, in the order of the table."""
    found: dict[Key, list[Any]] = {}
    for row in table.rows:
        if (row[0], row[1]) == page:
            found.setdefault((str(row[2]), str(row[3])), []).append(row)
    return {key: Table(table.columns, tuple(rows)) for key, rows in found.items()}


def draw_lines(rows: Mapping[Key, Table], ax: Axes, measure: str, *, along: str) -> Axes:
    """Draw a measure of every network along a column, with its interval as a band."""
    styles = styles_of(list(rows))
    alpha = 0.13 if len(rows) <= _FEW else 0.06
    for key, lines in rows.items():
        place, mean, low, high = (
            numbers(lines, name) for name in (along, measure, f"{measure}_low", f"{measure}_high")
        )
        colour, dashes, width = styles[key]
        ends = (_TINY, _HUGE) if ax.get_yscale() == "log" else (-np.inf, np.inf)
        mean, low, high = (np.clip(one, *ends) for one in (mean, low, high))
        ax.plot(place, mean, color=colour, ls=dashes, lw=width)
        ax.fill_between(place, low, high, color=colour, alpha=alpha, lw=0)
    return ax


def styles_of(keys: Sequence[Key]) -> dict[Key, tuple[str, Any, float]]:
    """Colour by scheme, dashes by residual, width; the PDE is grey and wide."""
    schemes = [name for name in dict.fromkeys(scheme for scheme, _ in keys) if name != FLOW]
    colours = dict(zip(schemes, itertools.cycle(CATEGORIES)))
    others = [name for name in dict.fromkeys(word for _, word in keys) if name not in _DASHES]
    dashes = {**_DASHES, **dict(zip(others, itertools.cycle(_OTHER_DASHES)))}
    phases = {name: place / len(schemes) for place, name in enumerate(schemes)}
    return {
        (scheme, residual): (FAINT, "-", 2.2)
        if scheme == FLOW
        else (colours[scheme], _dashed(dashes[residual], phases[scheme]), 1.2)
        for scheme, residual in keys
    }


def _dashed(dashes: tuple[float, ...], phase: float) -> _Style:
    """A line style that begins at a share of its period: lines on one another show in turn."""
    return (phase * sum(dashes), dashes) if dashes else "-"


def legend_of(
    figure: Figure, rows: Mapping[Key, Table], *, markers: Mapping[str, str] | None = None
) -> None:
    """Schemes by colour and residuals by dashes, in one line below the panels.

    `markers` are the crosses of residuals, where there are any.
    """
    styles = styles_of(list(rows))
    colours = {scheme: style[0] for (scheme, _), style in styles.items() if scheme != FLOW}
    dashes = {word: style[1] for (scheme, word), style in styles.items() if scheme != FLOW}
    handles = [
        Line2D([], [], color=colour, lw=1.6, label=_SCHEMES.get(name, name))
        for name, colour in colours.items()
    ]
    handles += [
        Line2D(
            [], [], color=INK, lw=1.2, ls=dash, marker=(markers or {}).get(word, ""), ms=4.5,
            label=_NAMES.get(word, f"residual {word}"),
        )
        for word, dash in dashes.items()
    ]  # fmt: skip
    if any(scheme == FLOW for scheme, _ in rows):
        handles.append(Line2D([], [], color=FAINT, lw=2.2, label="PDE, same weights"))
    most = 4 if any(len(str(handle.get_label())) > _LONG for handle in handles) else 6
    lines = math.ceil(len(handles) / most)
    legend = figure.legend(
        handles=handles, loc="outside lower center", ncols=math.ceil(len(handles) / lines),
        frameon=False,
        handlelength=2.2, columnspacing=1.4,
    )  # fmt: skip
    for text in legend.get_texts():
        typeset(text)


def powers_of_ten(axis: Axis) -> None:
    """Ticks at powers of ten alone."""
    axis.set_major_locator(LogLocator(numticks=6))
    axis.set_major_formatter(LogFormatterMathtext())
    axis.set_minor_locator(NullLocator())


def page_name(word: str, page: Page, pages: Sequence[Page]) -> str:
    """The file of a page: a word and what tells it from the others."""
    (depth, mlp), words = page, [word]
    if len({other[1] for other in pages}) > 1:
        words.append("attention" if mlp == "none" else f"attention-{'mlp' if mlp == OWN else mlp}")
    if len({other[0] for other in pages}) > 1:
        words.append(f"depth-{depth}")
    return "-".join(words)


def second_branch(attention: str, page: Page) -> str:
    """What was run, in the corner."""
    depth, mlp = page
    return f"{attention}{'' if mlp == 'none' else f' and {_mlp(mlp)}'}, $L = {depth}$"


def _mlp(word: str) -> str:
    return "MLP" if word == OWN else f"{word} MLP"


def numbers(table: Table, name: str) -> Float[np.ndarray, " rows"]:
    """A column; NaN for empty cells."""
    return np.array([np.nan if cell is None else float(cell) for cell in table.column(name)])
