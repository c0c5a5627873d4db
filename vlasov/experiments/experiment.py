"""An experiment: settings in, a report out; run into a folder, interrupted, resumed."""

__all__ = ["Context", "Differences", "Experiment", "Job", "carry_out", "other_settings"]

import dataclasses
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from vlasov.errors import RunFolderError, VlasovError
from vlasov.experiments.folder_place import set_aside
from vlasov.experiments.folder_store import RunFolder
from vlasov.experiments.monitor import Watch
from vlasov.experiments.pieces import Interrupted, Pieces
from vlasov.experiments.record import provenance_of
from vlasov.experiments.report import Report, read_report, write_report
from vlasov.experiments.settings import from_mapping


@dataclass(frozen=True, eq=False)
class Context:
    """Where a running experiment keeps its pieces, and who follows it."""

    folder: RunFolder | None = None
    watch: Watch = dataclasses.field(default_factory=Watch)

    def pieces(self, total: int) -> Pieces:
        """Storage for `total` pieces."""
        return Pieces(self.folder, self.watch, total)


Job = Callable[[Context], Report]
Differences = Callable[[Any, Any], Iterable[str]]

_GO_ON = ("interrupted", "incomplete")
"""How a run ends whose resuming has something left to do."""


def other_settings(begun: Any, asked: Any) -> Iterator[str]:  # noqa: ANN401 - any dataclass
    """The names of the settings that differ."""
    names = [field.name for field in dataclasses.fields(begun) if field.compare]
    other = [f"'{name}'" for name in names if getattr(begun, name) != getattr(asked, name)]
    if other:
        yield f"{', '.join(other)} {'differs' if len(other) == 1 else 'differ'}"


@dataclass(frozen=True)
class Experiment:
    """A named experiment.

    `prepare` takes the settings, an instance of the dataclass `config`, refuses what cannot be
    run, and returns the job: nothing is written before. With `keeps`, what a job has written when
    it fails is worth going on from, and stays. `differences` says in words what forbids that a
    run goes on with the settings asked for instead of those it was begun with.
    """

    name: str
    config: type
    prepare: Callable[[Any], Job]
    presets: Mapping[str, Mapping[str, Any]] = dataclasses.field(default_factory=dict[str, Any])
    keeps: bool = False
    differences: Differences = other_settings


def carry_out(
    experiment: Experiment,
    settings: object,
    folder: RunFolder,
    *,
    watch: Watch | None = None,
    resume: bool = False,
) -> Report:
    """Run an experiment into its folder; an interrupted one has the status "interrupted".

    With `resume` the folder must hold the same experiment with the same settings, or with fewer
    of what it can add; a finished one is read, not run again; one with the status "incomplete"
    tries again what failed. What is refused leaves a new folder as it was.

    Raises:
        RunFolderError: for a folder of another experiment or of other settings.
        VlasovError: for settings that the experiment refuses.
    """
    try:
        job = experiment.prepare(settings)
    except VlasovError:
        folder.discard()
        raise
    if resume:
        _take_over(experiment, settings, folder)
        if folder.has_result and folder.result()["status"] not in _GO_ON:
            return read_report(folder)
        folder.drop_result()
        return _into(folder, job, watch)
    given = dataclasses.asdict(settings)  # pyright: ignore[reportArgumentType]
    try:
        with set_aside(folder.path, keep=experiment.keeps):
            folder.begin(given, provenance_of(given) | {"experiment": experiment.name})
            return _into(folder, job, watch)
    except Exception:
        folder.discard()
        raise


def _into(folder: RunFolder, job: Job, watch: Watch | None) -> Report:
    """Do the job and write its report and the time it took."""
    clock = time.monotonic()
    report = _finished(job, Context(folder, watch or Watch()))
    provenance = folder.provenance()
    spent = provenance["wall_seconds"] + time.monotonic() - clock
    folder.write_provenance(provenance | {"wall_seconds": spent})
    write_report(report, folder)
    return report


def _finished(job: Job, context: Context) -> Report:
    try:
        report = job(context)
    except Interrupted:
        message = "Interrupted; the finished pieces are kept. Go on with --resume."
        return Report({"status": "interrupted", "message": message})
    context.pieces(1).remove()
    return report


def _take_over(experiment: Experiment, settings: object, folder: RunFolder) -> None:
    """Refuse a run of other settings; where these may be more than its own, they become its."""
    folder.require_experiment(experiment.name)
    begun = from_mapping(experiment.config, folder.config())
    forbidden = "; ".join(experiment.differences(begun, settings))
    if forbidden:
        raise RunFolderError(
            f"The settings are not those of the run in '{folder.path}': {forbidden}. Resume "
            "without other settings, or start again with --overwrite."
        )
    if begun != settings:
        folder.drop_result()  # first: a finished result of less would be read as that of all
    given = dataclasses.asdict(settings)  # pyright: ignore[reportArgumentType]
    if dataclasses.asdict(begun) != given:
        folder.write_config(given)
