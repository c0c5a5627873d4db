"""The pages of an ablation: curves over the layers, one line for each network."""

__all__ = ["measure_curves", "pictures"]

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import LogFormatterMathtext, LogLocator, MaxNLocator, NullLocator

from vlasov.experiments.ablate_cases import FLOW, OWN
from vlasov.experiments.report import Report, Table
from vlasov.plots.style import CATEGORIES, FAINT, INK, dress, new_figure, typeset

_PANELS = (
    ("norm", r"token norm $|X|/\sqrt{nd}$", True),
    ("token_cosine", "cosine of two tokens", False),
    ("input_cosine", "cosine with the input", False),
    ("gradient", r"gradient $|\partial S/\partial X_l|$", True),
    ("effective_rank", "effective rank", False),
    ("rank_one_distance", r"$|X - 1\,m^\mathsf{T}|\, / \,|X|$", True),
    ("w2_step", r"$W_2(X_{l-1}, X_l) / |X_{l-1}|$", True),
    ("cosine_to_limit", "cosine to own limit $dt \\to 0$", False),
    ("cosine_to_pde", "cosine to the PDE", False),
)
"""Measure, axis label, and whether its axis is logarithmic."""

_DASHES = {"on": "-", "off": (0, (4, 2)), "flow": "-"}
_OTHER_DASHES = ((0, (1, 1.5)), (0, (5, 1.5, 1, 1.5)), (0, (7, 2)))
_SCHEMES = {"none": "no norm", OWN: "own norm"}
_NAMES = {
    "on": "residual",
    "off": "no residual",
    "attention": "residual of attention only",
    "mlp": "residual of MLP only",
}
_LONG = 18  # letters of a name that takes two places in the legend
_DECADES = 100.0  # a range this wide is read on a logarithmic scale
_FEW = 8  # networks whose bands can be told apart
_TINY = 1e-17  # below: a rank-one cloud up to rounding

Key = tuple[str, str]


def pictures(report: Report, settings: Mapping[str, Any]) -> dict[str, Figure]:
    """A page for each depth and second branch."""
    table = report.tables["ablation"]
    pages = list(dict.fromkeys((row[0], row[1]) for row in table.rows))
    branches = str(settings["attention"])
    remarks = "{tokens} tokens, range of {samples}".format(**report.result)
    return {
        _name(page, pages): _page(table, page, f"{_branches(branches, page)}, {remarks}")
        for page in pages
    }


def measure_curves(rows: Mapping[Key, Table], ax: Axes, measure: str) -> Axes:
    """Draw a measure of every network over the layers, with the range of the seeds as a band."""
    styles = _styles(list(rows))
    alpha = 0.13 if len(rows) <= _FEW else 0.06
    for key, lines in rows.items():
        layer, mean, low, high = (
            _numbers(lines, name)
            for name in ("layer", measure, f"{measure}_low", f"{measure}_high")
        )
        colour, dashes, width = styles[key]
        floor = _TINY if ax.get_yscale() == "log" else -np.inf
        mean, low, high = (np.maximum(one, floor) for one in (mean, low, high))
        ax.plot(layer, mean, color=colour, ls=dashes, lw=width)
        ax.fill_between(layer, low, high, color=colour, alpha=alpha, lw=0)
    return ax


def _page(table: Table, page: tuple[Any, Any], remarks: str) -> Figure:
    rows = _networks(table, page)
    figure = new_figure(7.0, 6.6)
    grid = figure.subplots(3, 3, sharex=True)
    for ax, (measure, label, log) in zip(grid.flat, _PANELS, strict=True):
        if log:
            ax.set_yscale("log")
        measure_curves(rows, ax, measure)
        ax.set_ylabel(label)
        _axes(ax, log=log)
    for ax in grid[-1]:
        ax.set_xlabel("layer $l$")
    title = figure.suptitle(remarks, x=0.99, ha="right", color=FAINT)
    typeset(title)
    for ax in grid.flat:
        dress(ax)
    _legend(figure, rows)
    return figure


def _branches(attention: str, page: tuple[Any, Any]) -> str:
    """What was run, in the corner."""
    depth, mlp = page
    return f"{attention}{'' if mlp == 'none' else f' and {_mlp(mlp)}'}, $L = {depth}$"


def _mlp(word: str) -> str:
    return "MLP" if word == OWN else f"{word} MLP"


def _name(page: tuple[Any, Any], pages: Sequence[tuple[Any, Any]]) -> str:
    """The file of a page: what tells it from the others."""
    (depth, mlp), words = page, ["ablation"]
    if len({other[1] for other in pages}) > 1:
        words.append("attention" if mlp == "none" else f"attention-{'mlp' if mlp == OWN else mlp}")
    if len({other[0] for other in pages}) > 1:
        words.append(f"depth-{depth}")
    return "-".join(words)


def _networks(table: Table, page: tuple[Any, Any]) -> dict[Key, Table]:
    """The rows of each network on a page, in the order of the table."""
    found: dict[Key, list[Any]] = {}
    for row in table.rows:
        if (row[0], row[1]) == page:
            found.setdefault((str(row[2]), str(row[3])), []).append(row)
    return {key: Table(table.columns, tuple(rows)) for key, rows in found.items()}


def _styles(keys: Sequence[Key]) -> dict[Key, tuple[str, Any, float]]:
    """Colour by scheme, dashes by residual, width; the PDE is grey and wide."""
    schemes = [name for name in dict.fromkeys(scheme for scheme, _ in keys) if name != FLOW]
    colours = dict(zip(schemes, itertools.cycle(CATEGORIES)))
    others = [name for name in dict.fromkeys(word for _, word in keys) if name not in _DASHES]
    dashes = {**_DASHES, **dict(zip(others, itertools.cycle(_OTHER_DASHES)))}
    return {
        (scheme, residual): (FAINT, "-", 2.2)
        if scheme == FLOW
        else (colours[scheme], dashes[residual], 1.2)
        for scheme, residual in keys
    }


def _legend(figure: Figure, rows: Mapping[Key, Table]) -> None:
    """Schemes by colour and residuals by dashes, in one line below the panels."""
    styles = _styles(list(rows))
    colours = {scheme: style[0] for (scheme, _), style in styles.items() if scheme != FLOW}
    dashes = {word: style[1] for (scheme, word), style in styles.items() if scheme != FLOW}
    handles = [
        Line2D([], [], color=colour, lw=1.6, label=_SCHEMES.get(name, name))
        for name, colour in colours.items()
    ]
    handles += [
        Line2D([], [], color=INK, lw=1.2, ls=dash, label=_NAMES.get(word, f"residual {word}"))
        for word, dash in dashes.items()
    ]
    if any(scheme == FLOW for scheme, _ in rows):
        handles.append(Line2D([], [], color=FAINT, lw=2.2, label="PDE, same weights"))
    most = 4 if any(len(str(handle.get_label())) > _LONG for handle in handles) else 6
    legend = figure.legend(
        handles=handles, loc="outside lower center", ncols=min(len(handles), most), frameon=False,
        handlelength=2.2, columnspacing=1.4,
    )  # fmt: skip
    for text in legend.get_texts():
        typeset(text)


def _axes(ax: Axes, *, log: bool) -> None:
    """Whole layers, and powers of ten where the values span them."""
    low, high = ax.get_ylim()
    if log and high < _DECADES * low:
        ax.set(yscale="linear", ylim=(0.0, high))
        log = False
    ax.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=5))
    if log:
        ax.yaxis.set_major_locator(LogLocator(numticks=6))
        ax.yaxis.set_major_formatter(LogFormatterMathtext())
        ax.yaxis.set_minor_locator(NullLocator())


def _numbers(table: Table, name: str) -> Float[np.ndarray, " layers"]:
    return np.array([np.nan if cell is None else float(cell) for cell in table.column(name)])
