"""The command of an experiment: options from its settings, its report as table and pictures."""

__all__ = ["Request", "answer", "draw_report", "experiment_command"]

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from vlasov.experiments.experiment import Experiment, carry_out
from vlasov.experiments.folder_store import RunFolder
from vlasov.experiments.monitor import Watch
from vlasov.experiments.presets import layered_settings
from vlasov.experiments.report import Report
from vlasov.experiments.settings import from_mapping
from vlasov.interruption import Interruption, catch_signals
from vlasov.plots import save_report

from .options import run_options, setting_options
from .progress import follow
from .report import print_experiment, print_json


def experiment_command(experiment: Experiment, text: str) -> click.Command:
    """The sub-command of an experiment; `text` is its help."""

    @click.command(experiment.name, help=text)
    @setting_options(experiment.config)
    @run_options
    @click.option("--no-figures", is_flag=True, help="Draw nothing.")
    @click.pass_context
    def command(ctx: click.Context, /, **given: Any) -> None:  # noqa: ANN401 - what click passes
        _, status = answer(Request(experiment, given))
        ctx.exit(status)

    return command


def answer(
    request: "Request", shown: Callable[[Report], Report] | None = None
) -> tuple[Report, int]:
    """Carry a request out, draw it and print it; its report, and the exit status of a signal.

    `shown` is what of the report a terminal has room for.
    """
    given = request.given
    with catch_signals() as caught:
        folder, report = request.carry_out(caught)
    drawn = [] if given["no_figures"] or caught.requested else draw_report(folder, report)
    if given["as_json"]:
        print_json(folder, drawn)
    elif not given["quiet"]:
        print_experiment(shown(report) if shown else report, folder, drawn)
    return report, caught.exit_status


@dataclass(frozen=True)
class Request:
    """What the command line asks of an experiment."""

    experiment: Experiment
    given: Mapping[str, Any]

    def carry_out(self, caught: Interruption) -> tuple[RunFolder, Report]:
        """The report, in its folder."""
        settings = self.settings()
        folder = self._folder()
        with follow(self.experiment.name.capitalize(), 1.0, quiet=self.given["quiet"]) as tick:
            watch = Watch(progress=tick, interrupted=lambda: caught.requested)
            resume = self.given["resume"]
            return folder, carry_out(self.experiment, settings, folder, watch=watch, resume=resume)

    def settings(self) -> object:
        """The settings, from presets, a file, options, or the run that goes on."""
        given, config = self.given, self.experiment.config
        flags = {
            name: given[name]
            for name in config.__dataclass_fields__
            if given[name] not in (None, ())
        }
        if given["resume"]:
            self._check_resume()
            folder = RunFolder.open(given["out"])
            folder.require_experiment(self.experiment.name)
            return from_mapping(config, folder.config() | flags)
        presets = self.experiment.presets
        return from_mapping(
            config, layered_settings(given["preset"], given["config"], flags, presets)
        )

    def _check_resume(self) -> None:
        if self.given["out"] is None or self.given["overwrite"]:
            raise click.UsageError(
                "--resume goes on with the run in --out DIR, without --overwrite."
            )

    def _folder(self) -> RunFolder:
        out: Path | None = self.given["out"]
        if self.given["resume"]:
            return RunFolder.open(out or "")
        if out is None:
            return RunFolder.create_new(self.experiment.name)
        return RunFolder.create(out, overwrite=self.given["overwrite"])


def draw_report(folder: RunFolder, report: Report) -> list[Path]:
    """The pictures of a report, in its folder."""
    name = str(folder.provenance()["experiment"])
    return save_report(name, report, folder.config(), folder.path)
