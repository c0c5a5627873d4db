"""`vlasov train`."""

__all__ = ["command"]

from dataclasses import replace
from typing import Any

import click

from vlasov.experiments.lra_config import LraChoices
from vlasov.experiments.lra_run import TRAIN
from vlasov.experiments.report import Table
from vlasov.interruption import catch_signals

from .experiment import Request, draw_report
from .options import run_options, setting_options
from .report import print_experiment, print_json

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
    request = Request(TRAIN, given)
    with catch_signals() as caught:
        folder, report = request.carry_out(caught)
    drawn = [] if given["no_figures"] or caught.requested else draw_report(folder, report)
    if given["as_json"]:
        print_json(folder, drawn)
    elif not given["quiet"]:
        shown = {"paired": _narrow(report.tables["paired"])}
        print_experiment(replace(report, tables=shown), folder, drawn)
    else:
        for reason in filter(None, report.tables["runs"].column("message")):
            click.echo(reason, err=True)
    ctx.exit(caught.exit_status or (_FAILED if report.result["status"] == "incomplete" else 0))


def _narrow(paired: Table) -> Table:
    """What a terminal has room for; the verdicts follow as sentences."""
    columns = {name: paired.column(name) for name in _SHOWN}
    return Table.of_columns(
        {name: column for name, column in columns.items() if set(column) != {None}}
    )
