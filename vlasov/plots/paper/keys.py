"""Colours of outcomes, and the legend that names what a panel shows."""

__all__ = ["OUTCOMES", "key", "outcome_colours"]

from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from vlasov.experiments.report import Report
from vlasov.plots.style import CATEGORIES, FAINT, INK, typeset

OUTCOMES = {
    "converged": CATEGORIES[0],
    "blow-up": CATEGORIES[1],
    "exponential divergence": CATEGORIES[4],
    "diverged": CATEGORIES[7],
    "still moving": CATEGORIES[6],
}
"""In the order in which the experiments number them."""


def outcome_colours(kinds: list[int]) -> list[str]:
    """The colour of each outcome, by number."""
    known = list(OUTCOMES.values())
    return [known[kind] for kind in kinds]


def key(figure: Figure, report: Report) -> None:
    """Name starts, outcomes that occur, and expected limits, below the panels."""
    seen = set(report.tables["counts"].column("outcome"))
    marks = [_mark("start", FAINT, ms=2.5)]
    marks += [
        _mark(name if name != "converged" else "limit", colour, ms=4, lw=0.8)
        for name, colour in OUTCOMES.items()
        if name in seen
    ]
    if any(len(report.arrays[f"{panel}_lines"]) for panel in report.result["panels"]):
        marks.append(_lines(str(report.result["view"])))
    if "plane" in report.arrays:
        marks.append(Line2D([], [], color=CATEGORIES[2], lw=5, alpha=0.3, label="plane expected"))
    legend = figure.legend(
        handles=marks, loc="outside lower center", ncols=len(marks), frameon=False
    )
    for text in legend.get_texts():
        typeset(text)


def _lines(view: str) -> Line2D:
    if view == "cone":
        return Line2D([], [], color=INK, ls="--", lw=1.0, label="lines expected")
    return Line2D(
        [], [], color="none", marker="D", ms=5, mec=INK, mfc="none", label="lines expected"
    )


def _mark(label: str, colour: str, *, ms: float, lw: float = 0.0) -> Line2D:
    return Line2D([], [], color=colour, marker="o", ms=ms, lw=lw, label=label)
