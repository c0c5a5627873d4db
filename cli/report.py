"""What a run ends with: a table and the list of files, or one JSON object."""

__all__ = ["print_experiment", "print_json", "print_report"]

import json
from collections.abc import Sequence
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table
from torch import Tensor

from vlasov.atomic_file import strict
from vlasov.experiments.folder_store import RunFolder
from vlasov.experiments.report import Report
from vlasov.experiments.report import Table as ReportTable
from vlasov.run import Run

_ROWS = 40  # of a table on the screen; longer ones are in their file
_COLUMNS = 12  # beyond, no cell has room for its number
_WIDTH = 100  # of tables in log files, where there is no terminal to ask


def print_json(folder: RunFolder, drawn: Sequence[Path]) -> None:
    """One strict JSON object: the result, the settings, the folder and its files."""
    content = {
        "folder": str(folder.path),
        "result": folder.result(),
        "config": folder.config(),
        "files": [str(path) for path in _files(folder, drawn)],
    }
    click.echo(json.dumps(strict(content), allow_nan=False))


def print_report(run: Run, folder: RunFolder, drawn: Sequence[Path]) -> None:
    """A table of how the run ended, and the files it wrote."""
    console = _console()
    table = Table(title=str(folder.path), show_header=False)
    for name, value in _rows(run, folder):
        table.add_row(name, value)
    console.print(table)
    _print_notes(console, folder.result().get("notes", ()))
    _list_files(console, folder, drawn)


def print_experiment(report: Report, folder: RunFolder | None, drawn: Sequence[Path]) -> None:
    """The numbers of a report, its short tables, its sentences, and the files it wrote, if any."""
    console = _console()
    table = Table(title=None if folder is None else str(folder.path), show_header=False)
    for name, value in report.result.items():
        if not isinstance(value, list | tuple | dict):
            table.add_row("" if name == "message" else name.replace("_", " "), _shown(value))
    console.print(table)
    for name, content in report.tables.items():
        _print_table(console, name, content)
    _print_notes(console, report.notes)
    if folder is not None:
        _list_files(console, folder, drawn)


def _print_table(console: Console, name: str, content: ReportTable) -> None:
    if len(content.rows) > _ROWS or len(content.columns) > _COLUMNS:
        console.out(f"{name}.csv: {len(content.rows)} rows", highlight=False)
        return
    table = Table(title=name)
    for column in content.columns:
        table.add_column(column.replace("_", " "), overflow="fold")  # no digit or name is cut
    for row in content.rows:
        table.add_row(*("" if cell is None else _shown(cell) for cell in row))
    console.print(table)


def _print_notes(console: Console, notes: Sequence[str]) -> None:
    for note in notes:
        console.out(note, highlight=False)


def _list_files(console: Console, folder: RunFolder, drawn: Sequence[Path]) -> None:
    console.print("Files:", highlight=False)
    for path in _files(folder, drawn):
        console.out(f"  {path}", highlight=False)


def _console() -> Console:
    console = Console(highlight=False)
    return console if console.is_terminal else Console(highlight=False, width=_WIDTH)


def _files(folder: RunFolder, drawn: Sequence[Path]) -> list[Path]:
    inside = folder.contents()
    return inside + [path for path in drawn if path not in inside]


def _rows(run: Run, folder: RunFolder) -> list[tuple[str, str]]:
    n, d = run.points.shape[-2:]
    facts = [
        ("status", run.status),
        ("", run.message),
        ("time", f"{run.stopped_at:.6g}"),
        ("tokens", f"{n} of width {d}"),
        *((name, _shown(run.facts[name])) for name in _FACTS if run.facts.get(name) is not None),
        ("steps", f"{run.steps} ({run.rejected} rejected), {run.evaluations} field evaluations"),
        ("frames", str(len(run.times))),
        ("time-step error", "not estimated" if run.error is None else f"{_last(run.error)}"),
        ("seconds", f"{folder.provenance()['wall_seconds']:.2f}"),
    ]
    observed = [(name, _last(values)) for name, values in run.observables.items() if len(values)]
    events = [(f"event {event.name}", f"t = {event.time:.6g}") for event in run.events]
    return facts + observed + events


_FACTS = (
    "attention",
    "beta",
    "geometry",
    "engine",
    "mask",
    "terms",
    "noise",
    "integrator",
    "seed",
)


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _last(values: Tensor) -> str:
    """The last value, whole where it is short."""
    last = values[-1].flatten().tolist()
    shown = ", ".join(f"{x:.5g}" if isinstance(x, float) else str(x) for x in last[:6])
    return shown if len(last) <= 6 else f"{shown}, ... ({len(last)} numbers)"
