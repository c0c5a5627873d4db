"""What an experiment finds: numbers, tables, arrays and sentences, in a run folder and back."""

__all__ = ["Cell", "Report", "Table", "read_report", "write_report"]

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from torch import Tensor

from vlasov.atomic_file import write_text
from vlasov.errors import RunFolderError
from vlasov.experiments.array_archive import read_archive, write_archive
from vlasov.experiments.folder_store import RunFolder

Cell = float | int | str | bool | None

_ARRAYS = "arrays.npz"


@dataclass(frozen=True)
class Table:
    """Rows of cells under named columns; written as CSV, which reads back the same numbers."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]

    @classmethod
    def of_columns(cls, columns: Mapping[str, Sequence[Cell]]) -> "Table":
        """A table from its columns, all of one length."""
        return cls(tuple(columns), tuple(zip(*columns.values(), strict=True)))

    def column(self, name: str) -> list[Cell]:
        """The cells of one column."""
        return [row[self.columns.index(name)] for row in self.rows]

    def text(self) -> str:
        """The table as CSV; floats with all their digits."""
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(self.columns)
        writer.writerows([_written(cell) for cell in row] for row in self.rows)
        return out.getvalue()

    @classmethod
    def parse(cls, text: str) -> "Table":
        """The table that `text` wrote."""
        head, *rows = csv.reader(io.StringIO(text))
        return cls(tuple(head), tuple(tuple(_read(cell) for cell in row) for row in rows))


@dataclass(frozen=True)
class Report:
    """The outcome of an experiment.

    `result` holds numbers and words, its "status" and "message" among them; `notes` are sentences
    for the reader: verdicts, hypotheses, warnings.
    """

    result: Mapping[str, Any]
    tables: Mapping[str, Table] = field(default_factory=dict[str, Table])
    arrays: Mapping[str, Tensor] = field(default_factory=dict[str, Tensor])
    notes: tuple[str, ...] = ()


def write_report(report: Report, folder: RunFolder) -> None:
    """Tables and arrays first, ``result.json`` last: it marks the report as whole."""
    for name, table in report.tables.items():
        write_text(folder.path / f"{name}.csv", table.text())
    if report.arrays:
        write_archive(folder.path / _ARRAYS, report.arrays)
    folder.write_result(
        {
            **report.result,
            "tables": list(report.tables),
            "arrays": list(report.arrays),
            "notes": report.notes,
        }
    )


def read_report(folder: RunFolder) -> Report:
    """The report in a folder.

    Raises:
        RunFolderError: if a file is missing or cannot be read.
    """
    result = folder.result()
    tables, arrays = result.pop("tables"), result.pop("arrays")
    notes = tuple(result.pop("notes"))
    try:
        return Report(
            result,
            {name: Table.parse(_text(folder.path / f"{name}.csv")) for name in tables},
            read_archive(folder.path / _ARRAYS) if arrays else {},
            notes,
        )
    except (OSError, ValueError) as error:
        raise RunFolderError(
            f"The report in '{folder.path}' cannot be read ({error}). Restore the folder, or run "
            "again with --overwrite."
        ) from None


def _written(cell: Cell) -> Cell:
    return repr(cell) if isinstance(cell, float) else cell


def _read(text: str) -> Cell:
    if text in {"True", "False"}:
        return text == "True"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text or None


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8")
