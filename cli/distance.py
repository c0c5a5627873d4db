"""`vlasov distance`."""

__all__ = ["command"]

import dataclasses
import json
from typing import Any

import click

from vlasov.atomic_file import strict
from vlasov.experiments.distance_config import DistanceOptions
from vlasov.experiments.distance_run import DISTANCE
from vlasov.experiments.experiment import Context
from vlasov.interruption import catch_signals

from .experiment import Request
from .options import run_options, setting_options
from .report import print_experiment, print_json


@click.command("distance")
@click.argument("first", metavar="A")
@click.argument("second", metavar="B")
@setting_options(DistanceOptions)
@run_options
@click.pass_context
def command(ctx: click.Context, /, **given: Any) -> None:  # noqa: ANN401 - what click passes
    """Measure how far apart two laws are, and say how that is known.

    A and B are cloud files, run folders (their last frame), RUN:FRAME, or
    gaussian:mean=0,1,cov=1,0.5. Nothing is written without --out.
    """
    request = Request(DISTANCE, given)
    if given["out"] is None:
        _answer(request)
        return
    with catch_signals() as caught:
        folder, report = request.carry_out(caught)
    if given["as_json"]:
        print_json(folder, [])
    elif not given["quiet"]:
        print_experiment(report, folder, [])
    ctx.exit(caught.exit_status)


def _answer(request: Request) -> None:
    settings = request.settings()
    report = DISTANCE.prepare(settings)(Context())
    if request.given["as_json"]:
        config = dataclasses.asdict(settings)  # pyright: ignore[reportArgumentType]
        result = {**report.result, "notes": report.notes}
        content = {"folder": None, "result": result, "config": config, "files": []}
        click.echo(json.dumps(strict(content), allow_nan=False))
    elif not request.given["quiet"]:
        print_experiment(report, None, [])
