"""A grid that goes on with more than it was begun with: further tasks, arms or seeds."""

__all__ = ["widen"]

import dataclasses
from collections.abc import Iterator
from pathlib import Path

from vlasov.atomic_file import write_json
from vlasov.errors import RunFolderError
from vlasov.experiments.folder_store import RunFolder
from vlasov.experiments.lra_config import LraConfig
from vlasov.experiments.lra_run import TRAIN
from vlasov.experiments.settings import from_mapping

_CONFIG = "config.json"


def widen(folder: RunFolder, asked: LraConfig) -> None:
    """Make `asked` the settings of the grid in a folder, if they hold all of its runs as they are.

    The finished runs stay; resuming then does the others. Where the data is now, and the number of
    workers, are noted, too. Without a difference nothing is written.

    Raises:
        RunFolderError: for a run that would be missing, or be another one.
        VlasovError: for settings that cannot be run.
    """
    begun = from_mapping(LraConfig, folder.config())
    for difference in _differences(begun, asked):
        raise RunFolderError(
            f"A grid goes on with the runs it has and any others, but {difference} in "
            f"'{folder.path}'. Ask for the same and more, or start again with --overwrite."
        )
    if begun != asked:
        TRAIN.prepare(asked)
        folder.drop_result()  # first: a finished result of fewer runs would be read as that of all
    if dataclasses.asdict(begun) != dataclasses.asdict(asked):
        write_json(folder.path / _CONFIG, dataclasses.asdict(asked))


def _differences(begun: LraConfig, asked: LraConfig) -> Iterator[str]:
    """What of the old grid the new one lacks or changes, in words."""
    for task in begun.names:
        if task not in asked.names:
            yield f"the task '{task}' is no longer asked for and was run"
        else:
            yield from _changes(begun, asked, task)
    names = {arm.name for arm in asked.arms}
    for arm in begun.arms:
        if arm.name not in names:
            yield f"the diffusion '{arm.name}' is no longer asked for and was run"
    lost = [seed for seed in begun.all_seeds if seed not in asked.all_seeds]
    if lost:
        yield f"seed {lost[0]} is no longer asked for and was run"
    if begun.devices != asked.devices:
        yield f"'devices' is {asked.devices} and was {begun.devices}"


def _changes(begun: LraConfig, asked: LraConfig, task: str) -> Iterator[str]:
    (spec, place), (new_spec, new_place) = begun.source(task), asked.source(task)
    if spec != new_spec:
        yield f"'{spec}' is now '{new_spec}'"
    if (place is None) != (new_place is None):
        yield f"the examples of '{task}' are now {_origin(new_place)} and were {_origin(place)}"
    old, new = (dataclasses.asdict(config.recipe(task)) for config in (begun, asked))
    for name, value in old.items():
        if new[name] != value:
            yield f"'{name}' of '{task}' is {new[name]} and was {value}"


def _origin(place: Path | None) -> str:
    return "generated" if place is None else "read"
