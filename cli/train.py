"""`vlasov train`."""

__all__ = ["command"]

from dataclasses import replace
from typing import Any

import click

from vlasov.experiments.lra_config import LraChoices
from vlasov.experiments.lra_run import TRAIN
from vlasov.experiments.report import Report, Table

from .experiment import Request, answer
from .options import run_options, setting_options

_FAILED = 1
_SHOWN = ("task", "diffusion", "n", "accuracy", "floor", "difference", "low", "high", "t_test",
          "sign_test")  # fmt: skip


@click.command(TRAIN.name)
@click.argument("tasks", metavar="TASK...", nargs=-1)
@click.option(
    "--diffusion",
    multiple=True,
    metavar="SPEC",
    help="Arms: none, after-embedding, after-mlp:1,2,4, ... Several by repeating the option, or "
    "separated by blanks, or by a comma before a letter.  [default: none]",
)
@setting_options(LraChoices)
@run_options
@click.option("--no-figures", is_flag=True, help="Draw nothing.")
@click.pass_context
def command(ctx: click.Context, /, **given: Any) -> None:  # noqa: ANN401 - what click passes
    """Train Transformers with and without diffusion on tasks of the Long Range Arena.

    One task, arm and seed are one run; several are a grid, compared seed by seed with the
    baseline. Each run has its own folder RUN/TASK/ARM/seed-K and goes on after a stop by
    --resume. TASK is listops, text, retrieval, pathfinder or image.

    Exit status 1: a run failed, the others were done.
    """
    given["diffusion"] = " ".join(given["diffusion"]) or None
    report, status = answer(Request(TRAIN, given), _narrow)
    for reason in filter(None, report.tables["runs"].column("message") if given["quiet"] else ()):
        click.echo(reason, err=True)
    ctx.exit(status or (_FAILED if report.result["status"] == "incomplete" else 0))


def _narrow(report: Report) -> Report:
    """The comparison alone; the verdicts follow as sentences."""
    paired = report.tables["paired"]
    columns = {name: paired.column(name) for name in _SHOWN}
    filled = {name: column for name, column in columns.items() if set(column) != {None}}
    return replace(report, tables={"paired": Table.of_columns(filled)})
