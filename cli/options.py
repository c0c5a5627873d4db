"""Options of a command, from the fields of its settings: nothing is written twice."""

__all__ = ["drawing_options", "run_options", "setting_options"]

import dataclasses
import typing
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

Command = TypeVar("Command", bound=Callable[..., Any])

MOVIES = ("gif", "mp4", "none")


def setting_options(kind: type) -> Callable[[Command], Command]:
    """One option for each field of a settings dataclass; without a default, so unset is seen.

    Values stay text: `vlasov.experiments.settings` reads them by the type of their field.
    """

    def decorate(command: Command) -> Command:
        hints = typing.get_type_hints(kind)
        for field in reversed(dataclasses.fields(kind)):
            command = _option(field, hints[field.name])(command)
        return command

    return decorate


def _option(field: dataclasses.Field[Any], hint: object) -> Callable[[Command], Command]:
    name = field.name.replace("_", "-")
    text = field.metadata["help"] + _default(field.default)
    if hint is bool:
        return click.option(f"--{name}/--no-{name}", field.name, default=None, help=text)
    return click.option(
        f"--{name}",
        field.name,
        type=click.UNPROCESSED,
        multiple=typing.get_origin(hint) is tuple,
        default=None,
        help=text,
        metavar=_metavar(hint),
    )


def _default(value: object) -> str:
    shown = ",".join(map(str, value)) if isinstance(value, tuple) else value
    return "" if shown in (None, "", False) else f"  [default: {shown}]"


def _metavar(hint: object) -> str:
    words = {int: "INTEGER", float: "NUMBER", str: "TEXT"}
    return "|".join(words[kind] for kind in typing.get_args(hint) or (hint,) if kind in words)


def run_options(command: Command) -> Command:
    """Options of every command that writes a run folder."""
    for decorate in (
        click.option(
            "--json", "as_json", is_flag=True, help="Print one JSON object instead of a table."
        ),
        click.option("--quiet", is_flag=True, help="Print nothing but errors."),
        click.option("--overwrite", is_flag=True, help="Write over the run in --out."),
        click.option("--resume", is_flag=True, help="Go on with the run in --out."),
        click.option(
            "--out",
            type=click.Path(path_type=Path, file_okay=False),
            help="Run folder.  [default: runs/COMMAND-TIME-ID]",
        ),
        click.option("--preset", help="Named settings, weaker than a file and flags."),
        click.option(
            "--config",
            type=click.Path(path_type=Path),
            help="Settings in a TOML file, weaker than flags.",
        ),
    ):
        command = decorate(command)
    return command


def drawing_options(command: Command) -> Command:
    """Options of every command that draws."""
    for decorate in (
        click.option("--no-figures", is_flag=True, help="Draw nothing."),
        click.option(
            "--movie",
            type=click.Choice(MOVIES),
            default="gif",
            show_default=True,
            help="Kind of animation.",
        ),
        click.option("--html", is_flag=True, help="Write an interactive page, too."),
    ):
        command = decorate(command)
    return command
