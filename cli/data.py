"""`vlasov data`: make, check and describe the data of a task of the Long Range Arena."""

__all__ = ["command"]

import dataclasses
import json
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from vlasov.interruption import catch_signals
from vlasov.lra import TASKS
from vlasov.lra.description import Part, check_data, described
from vlasov.lra.folders import fresh_folder
from vlasov.lra.release import RELEASE_SIZES
from vlasov.lra.splits import Splits
from vlasov.lra.tasks import load_task, task_length

from .progress import follow

_WIDTH = 100  # of tables in log files, where there is no terminal to ask

_task = click.argument("task", metavar="TASK")
_folder = click.option(
    "--folder",
    type=click.Path(path_type=Path),
    help="Where the data is: the task's folder, its table, or the folder of all tasks.",
)
_length = click.option("--length", type=int, help="Cut at so many tokens.  [default: the task's]")
_seed = click.option("--seed", type=int, default=0, show_default=True, help="Of every choice.")
_json = click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON object instead of a table."
)


@click.group("data")
def command() -> None:
    """Make, check or describe the data of a task.

    TASK is listops, text, retrieval, pathfinder or image, with options of its reader if any:
    text:origin=imdb, retrieval:decode=true, listops:shortest=100,longest=501.
    """


@command.command("make")
@_task
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), required=True,
              help="A new folder.")  # fmt: skip
@click.option("--count", type=int, help="Train examples.  [default: as many as the release]")
@_seed
@click.option("--overwrite", is_flag=True, help="Replace the folder in --out.")
@click.option("--quiet", is_flag=True, help="Print nothing but errors.")
def make(
    task: str, *, out: Path, count: int | None, seed: int, overwrite: bool, quiet: bool
) -> None:
    """Generate the data of a task in the layout of the release.

    The folder appears when all of it is written; stopped before, nothing is left behind.
    """
    maker = TASKS.build(task)
    total = RELEASE_SIZES[maker.name][0] if count is None else count
    with (
        catch_signals() as caught,
        fresh_folder(out, overwrite=overwrite) as partial,
        follow("Making", total, quiet=quiet) as tick,
    ):

        def watch(done: int) -> None:
            tick(min(done, total))
            if caught.requested:
                raise click.exceptions.Exit(caught.exit_status)

        maker.make(partial, count=total, seed=seed, watch=watch)
    if not quiet:
        click.echo(str(out))


@command.command("check")
@_task
@_folder
@_length
@_seed
@click.pass_context
def check(
    ctx: click.Context, task: str, *, folder: Path | None, length: int | None, seed: int
) -> None:
    """Read the data as training would, and say what is wrong with it.

    Exit status 1 if something stands against using it.
    """
    reader = TASKS.build(task)
    place = Path() if folder is None else folder
    verdict = check_data(reader, place, length=task_length(reader, length), seed=seed)
    for line in verdict.lines:
        click.echo(line)
    click.echo("sound" if verdict.ok else "not sound")
    ctx.exit(0 if verdict.ok else 1)


@command.command("stats")
@_task
@_folder
@_length
@_seed
@_json
def stats(task: str, *, folder: Path | None, length: int | None, seed: int, as_json: bool) -> None:
    """Count examples, lengths, labels and repeats, and how far guesses get.

    Without a folder, ListOps is generated.
    """
    splits = load_task(task, folder, length=length, seed=seed)
    parts = described(splits)
    if as_json:
        content = {
            "task": splits.task,
            "parts": [dataclasses.asdict(part) for part in parts],
            "floors": splits.floors,
            "notes": splits.notes,
            "vocabulary": splits.vocabulary,
        }
        click.echo(json.dumps(content, allow_nan=False))
    else:
        _print(splits, parts)


def _print(splits: Splits, parts: tuple[Part, ...]) -> None:
    console = Console(highlight=False)
    console = console if console.is_terminal else Console(highlight=False, width=_WIDTH)
    table = Table("", *(part.part for part in parts), title=splits.task)
    for name in ("examples", *_LENGTHS):
        table.add_row(_LENGTHS.get(name, name), *(f"{getattr(p, name):,}" for p in parts))
    for label in range(splits.classes):
        table.add_row(f"class {label}", *(f"{part.labels[label]:.1%}" for part in parts))
    table.add_row("repeated", *(f"{part.repeated:,}" for part in parts))
    table.add_row(
        "also in train", *("" if p.in_train is None else f"{p.in_train:,}" for p in parts)
    )
    console.print(table)
    for name, accuracy in splits.floors.items():
        console.out(f"{name} guessed: {accuracy:.1%} of the test right", highlight=False)
    for note in splits.notes:
        console.out(note, highlight=False)


_LENGTHS = {
    "shortest": "shortest (tokens)",
    "median": "median",
    "most": "95 of 100 up to",
    "longest": "longest",
}
