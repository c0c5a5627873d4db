"""What the runs of a grid show: the report, and the tables of the paper beside it."""

__all__ = ["findings"]

from collections.abc import Mapping, Sequence
from pathlib import Path

from vlasov.atomic_file import write_text
from vlasov.experiments.lra_config import LraConfig
from vlasov.experiments.lra_facts import TaskFacts
from vlasov.experiments.lra_notes import lra_notes
from vlasov.experiments.lra_paper_cells import markdown
from vlasov.experiments.lra_paper_tables import paper_tables
from vlasov.experiments.lra_scores import floor_of, scores_of
from vlasov.experiments.lra_tables import alpha_table, curve_table, run_table
from vlasov.experiments.lra_trials import Outcome
from vlasov.experiments.lra_verdicts import comparisons, paired_table
from vlasov.experiments.report import Report, Table

_HEADING = "The tables of the PDE-Transformer paper, from these runs"
_SECONDS = 3600.0
_REST = {
    "finished": "",
    "interrupted": " The others can be done with --resume.",
    "incomplete": " Failed ones are tried again with --resume.",
}


def findings(
    config: LraConfig, facts: Mapping[str, TaskFacts], outcomes: Sequence[Outcome], root: Path
) -> Report:
    """The report of the runs that ended; ``tables.md`` and ``table-*.csv`` are written."""
    runs = run_table(outcomes)
    floors = {task: known.floors for task, known in facts.items()}
    highest = {task: floor_of(guesses) for task, guesses in floors.items()}
    found = comparisons(scores_of(runs), highest)
    _write_paper_tables(root, runs)
    status = _status(outcomes)
    return Report(
        {
            "status": status,
            "message": f"{_ended(runs, len(outcomes))}.{_REST[status]}",
            "size": config.size,
            "hours": _hours(runs),
            "floors": floors,
        },
        {
            "paired": paired_table(found),
            "runs": runs,
            "curves": curve_table(outcomes),
            "alphas": alpha_table(outcomes),
        },
        notes=lra_notes(runs, found, floors, {task: one.notes for task, one in facts.items()}),
    )


def _status(outcomes: Sequence[Outcome]) -> str:
    if any(one.result is None and one.failure is None for one in outcomes):
        return "interrupted"
    return "finished" if all(one.failure is None for one in outcomes) else "incomplete"


def _ended(runs: Table, total: int) -> str:
    diverged = runs.column("status").count("diverged")
    lost = f", {diverged} of them by divergence" if diverged else ""
    return f"{len(runs.rows)} of {total} runs ended{lost}"


def _write_paper_tables(root: Path, runs: Table) -> None:
    tables = paper_tables(runs)
    for table in tables:
        write_text(root / f"{table.name}.csv", table.table().text())
    write_text(root / "tables.md", markdown(tables, _HEADING))


def _hours(runs: Table) -> float:
    """Of all runs, one after the other."""
    seconds = sum(float(value) for value in runs.column("seconds") if value is not None)
    return round(seconds / _SECONDS, 4)
