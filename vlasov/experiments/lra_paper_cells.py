"""A table in the form of the paper: each cell with its number of seeds, interval, and the paper's.

It is written as markdown for readers and as CSV for programs.
"""

__all__ = ["Cell", "PaperTable", "markdown"]

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from vlasov.experiments import report
from vlasov.experiments.lra_published import REMARKS
from vlasov.experiments.lra_statistics import Estimate


@dataclass(frozen=True)
class Cell:
    """What was found, beside what the paper prints; either may be missing."""

    found: Estimate
    paper: float | None = None
    signed: bool = False
    digits: int = 4

    @property
    def text(self) -> str:
        """The mean with n and interval; empty where nothing was run."""
        one = self.found
        if one.mean is None:
            return ""
        if one.low is None or one.high is None:
            return f"{self._written(one.mean)} (n = {one.n})"
        bounds = f"{self._written(one.low)} to {self._written(one.high)}"
        return f"{self._written(one.mean)} ({bounds}, n = {one.n})"

    @property
    def paper_text(self) -> str:
        """The paper's number; empty where it has none."""
        return "" if self.paper is None else self._written(self.paper)

    def _written(self, value: float) -> str:
        return f"{value:{'+' if self.signed else ''}.{self.digits}f}"


@dataclass(frozen=True)
class PaperTable:
    """One table of the paper: its number, and rows of cells by name."""

    number: int
    title: str
    columns: tuple[str, ...]
    rows: Mapping[str, tuple[Cell, ...]]

    @property
    def name(self) -> str:
        """Of its file."""
        return f"table-{self.number:02d}"

    def table(self) -> report.Table:
        """All digits: mean, n, lower and upper bound, and the paper's number of each column."""
        kinds = ("", " n", " low", " high", " paper")
        columns = ("row", *(f"{name}{kind}" for name in self.columns for kind in kinds))
        empty = Cell(Estimate(0))
        rows = [
            (name, *(value for cell in self._filled(cells, empty) for value in _numbers(cell)))
            for name, cells in self.rows.items()
        ]
        return report.Table(columns, tuple(rows))

    def markdown(self) -> str:
        """A table for readers, the remarks below it."""
        head = [name for column in self.columns for name in (column, "paper")]
        lines = [
            f"## Table {self.number}: {self.title}\n",
            _line(["", *head]),
            _line(["---"] * (len(head) + 1)),
        ]
        for name, cells in self.rows.items():
            shown = [text for cell in cells for text in (cell.text, cell.paper_text)]
            lines.append(_line([name, *shown, *[""] * (len(head) - len(shown))]))
        notes = [f"- {remark}" for remark in REMARKS.get(self.number, ())]
        return "\n".join((*lines, "", *notes)).rstrip() + "\n"

    def _filled(self, cells: tuple[Cell, ...], empty: Cell) -> tuple[Cell, ...]:
        return cells + (empty,) * (len(self.columns) - len(cells))


def markdown(tables: Iterable[PaperTable], heading: str) -> str:
    """All tables under one heading."""
    words = (
        "Each cell: the mean over seeds (its 95 % interval, of accuracies cut to what they can "
        "be, and the number of seeds); to the right of it the number that the paper prints. "
        "Empty where nothing was run."
    )
    return "\n".join((f"# {heading}\n", f"{words}\n", *(table.markdown() for table in tables)))


def _numbers(cell: Cell) -> tuple[report.Cell, ...]:
    one = cell.found
    return (one.mean, one.n, one.low, one.high, cell.paper)


def _line(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"
