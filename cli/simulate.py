"""`vlasov simulate`."""

__all__ = ["command"]

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from vlasov.experiments import cloud_run
from vlasov.experiments.cloud_config import CloudConfig
from vlasov.experiments.folder_store import RunFolder
from vlasov.experiments.monitor import Watch
from vlasov.experiments.presets import layered_settings, resumed_settings
from vlasov.experiments.settings import from_mapping
from vlasov.interruption import Interruption, catch_signals
from vlasov.run import Run

from .figures import Drawing, check_drawing, draw
from .options import drawing_options, run_options, setting_options
from .progress import follow
from .report import print_json, print_report

Given = Any
"""What click passes for an option."""


@click.command("simulate")
@setting_options(CloudConfig)
@run_options
@drawing_options
@click.pass_context
def command(ctx: click.Context, **given: Given) -> None:
    """Move a token cloud by attention; save and draw what happens.

    Without options: tokens on the sphere gather in clusters. Flags are stronger than --config,
    which is stronger than --preset. --resume goes on with the settings of the run in --out; only
    the limits --max-steps and --wall-time may change.
    """
    request = Request.of(given)
    drawing = Drawing(given["movie"], given["html"], given["no_figures"])
    check_drawing(drawing)
    with catch_signals() as caught:
        folder, run = request.carry_out(caught)
    # a scheduler that sends SIGTERM waits for seconds only: `vlasov plot` draws later
    drawn = [] if caught.requested else draw(run, folder, drawing, quiet=request.quiet)
    if given["as_json"]:
        print_json(folder, drawn)
    elif not request.quiet:
        print_report(run, folder, drawn)
    ctx.exit(caught.exit_status)


@dataclass(frozen=True)
class Request:
    """What the command line asks for."""

    settings: Mapping[str, Any]
    out: Path | None
    resume: bool
    overwrite: bool
    quiet: bool

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> "Request":
        """The request in these options; unset ones do not count."""
        names = CloudConfig.__dataclass_fields__
        flags = {k: v for k, v in given.items() if k in names and v not in (None, ())}
        if given["resume"] and (given["out"] is None or given["overwrite"]):
            raise click.UsageError(
                "--resume goes on with the run in --out DIR, without --overwrite."
            )
        return cls(
            layered_settings(given["preset"], given["config"], flags),
            given["out"],
            given["resume"],
            given["overwrite"],
            given["quiet"],
        )

    def carry_out(self, caught: Interruption) -> tuple[RunFolder, Run]:
        """The run, in its folder."""
        begin = 0.0
        if self.resume:
            folder = RunFolder.open(self.out or "")
            folder.require_experiment("simulate")
            config = resumed_settings(cloud_run.recorded(folder), self.settings)
            simulation = cloud_run.prepare(config)
            begin, go = _reached(folder), cloud_run.resume
        else:
            simulation = cloud_run.prepare(from_mapping(CloudConfig, self.settings))
            folder = self._new_folder()
            go = cloud_run.run
        until = simulation.config.time or 0.0
        with follow("Simulating", until, begin=begin, quiet=self.quiet) as tick:
            watch = Watch(progress=tick, interrupted=lambda: caught.requested)
            return folder, go(simulation, folder, watch=watch)

    def _new_folder(self) -> RunFolder:
        if self.out is None:
            return RunFolder.create_new("simulate")
        return RunFolder.create(self.out, overwrite=self.overwrite)


def _reached(folder: RunFolder) -> float:
    """The time of the last frame before the checkpoint of a run."""
    checkpoint = folder.checkpoint()
    return 0.0 if checkpoint is None else float(checkpoint.state["memory"]["saved_at"])
