"""`vlasov train`."""

__all__ = ["command"]

import contextlib
from collections.abc import Generator
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from vlasov.experiments.folder_place import made_folders
from vlasov.experiments.folder_store import RunFolder
from vlasov.experiments.lra_arms import read_arms
from vlasov.experiments.lra_config import LraChoices
from vlasov.experiments.lra_run import TRAIN
from vlasov.experiments.report import Report, Table
from vlasov.lra.sole_use import sole_use

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
    --resume, also with more tasks, arms or seeds. TASK is listops, text, retrieval, pathfinder
    or image.

    Exit status 1: a run failed, the others were done.
    """
    for spec in given["diffusion"]:
        read_arms(spec)  # one that is empty would be lost among the others
    given["diffusion"] = " ".join(given["diffusion"]) or None
    request = Request(TRAIN, given)
    with _alone(given["out"], new=not given["resume"]):
        report, status = answer(request, _narrow)
    for reason in filter(None, report.tables["runs"].column("message") if given["quiet"] else ()):
        click.echo(reason, err=True)
    ctx.exit(status or (_FAILED if report.result["status"] == "incomplete" else 0))


@contextlib.contextmanager
def _alone(out: Path | None, *, new: bool) -> Generator[None, None, None]:
    """Refuse a folder in which another process trains, before anything there is touched."""
    if out is None or not (new or out.is_dir()):
        yield
        return
    folder = RunFolder(out, made=made_folders(out))
    try:
        with sole_use(out):
            yield
    finally:
        folder.discard()  # what a refusal left empty


def _narrow(report: Report) -> Report:
    """The comparison alone; the verdicts follow as sentences."""
    paired = report.tables["paired"]
    columns = {name: paired.column(name) for name in _SHOWN}
    filled = {name: column for name, column in columns.items() if set(column) != {None}}
    return replace(report, tables={"paired": Table.of_columns(filled)})
