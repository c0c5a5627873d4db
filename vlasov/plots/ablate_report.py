"""The pages of an ablation: curves over the layers, one line for each network."""

__all__ = ["pictures"]

from collections.abc import Mapping
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from vlasov.experiments.report import Report, Table
from vlasov.plots.ablate_limits import known_only
from vlasov.plots.ablate_lines import (
    draw_lines,
    legend_of,
    networks,
    page_name,
    pages_of,
    powers_of_ten,
    second_branch,
)
from vlasov.plots.ablate_training import training_pictures
from vlasov.plots.style import FAINT, dress, letter_panels, new_figure, note, typeset

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

_DECADES = 100.0  # a range this wide is read on a logarithmic scale


def pictures(report: Report, settings: Mapping[str, Any]) -> dict[str, Figure]:
    """A page for each depth and second branch; those of training where networks were trained."""
    if "training" in report.tables:
        return training_pictures(report, settings)
    table = report.tables["ablation"]
    pages = pages_of(table)
    branches = str(settings["attention"])
    remarks = "{tokens} tokens, mean of {samples}, 95 % bands".format(**report.result)
    return {
        page_name("ablation", page, pages): _page(
            table, page, f"{second_branch(branches, page)}, {remarks}"
        )
        for page in pages
    }


def _page(table: Table, page: tuple[Any, Any], remarks: str) -> Figure:
    rows = networks(table, page)
    figure = new_figure(7.0, 6.6)
    grid = figure.subplots(3, 3, sharex=True)
    for ax, (measure, label, log) in zip(grid.flat, _PANELS, strict=True):
        if log:
            ax.set_yscale("log")
        known, left_out = known_only(rows, measure)
        draw_lines(known, ax, measure, along="layer")
        ax.set_ylabel(label)
        if left_out:
            note(ax, "where the limit is known")
        _axes(ax, log=log)
    for ax in grid[-1]:
        ax.set_xlabel("layer $l$")
    title = figure.suptitle(remarks, x=0.99, ha="right", color=FAINT)
    typeset(title)
    letter_panels(grid.flat)
    for ax in grid.flat:
        dress(ax)
    legend_of(figure, rows)
    return figure


def _axes(ax: Axes, *, log: bool) -> None:
    """Whole layers, and powers of ten where the values span them."""
    low, high = ax.get_ylim()
    if log and high < _DECADES * low:
        ax.set(yscale="linear", ylim=(0.0, high))
        log = False
    ax.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=5))
    if log:
        powers_of_ten(ax.yaxis)
