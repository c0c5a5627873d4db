"""A grid that goes on with more than it was begun with: further tasks, arms or seeds."""

__all__ = ["lost_or_changed"]

import dataclasses
from collections.abc import Iterator
from pathlib import Path

from vlasov.experiments.lra_config import LraConfig


def lost_or_changed(begun: LraConfig, asked: LraConfig) -> Iterator[str]:
    """What of the old grid the new one lacks or changes, in words; without it, it may go on."""
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
