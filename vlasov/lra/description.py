"""What the data of a task looks like: sizes, lengths, labels, repeats, and whether it is sound."""

__all__ = ["Part", "Verdict", "check_data", "described"]

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import torch

from vlasov.errors import VlasovError
from vlasov.lra.examples import Examples
from vlasov.lra.release import RELEASE_SIZES
from vlasov.lra.repeats import repeated, shared
from vlasov.lra.splits import Splits
from vlasov.lra.task import Task
from vlasov.lra.tasks import read_task

_ENOUGH = 10  # examples for each class: a smaller part may lack one by chance
_QUANTILES = (0.0, 0.5, 0.95, 1.0)


@dataclass(frozen=True)
class Part:
    """Facts of one part of a task.

    Args:
        part: its name.
        examples: how many.
        shortest: tokens of the shortest sequence, after cutting.
        median: of the middle one.
        most: of the one that 95 in 100 do not exceed.
        longest: of the longest.
        labels: the share of each class.
        repeated: examples that occurred before in the same part.
        in_train: examples that occur in train, too; none for train itself.
    """

    part: str
    examples: int
    shortest: int
    median: int
    most: int
    longest: int
    labels: tuple[float, ...]
    repeated: int
    in_train: int | None


@dataclass(frozen=True)
class Verdict:
    """What a check found; `ok` if nothing stands against using the data."""

    lines: tuple[str, ...]
    ok: bool


def described(splits: Splits) -> tuple[Part, ...]:
    """The facts of train, validation and test."""
    return tuple(_part(name, part, splits) for name, part in splits.parts().items())


def _part(name: str, part: Examples, splits: Splits) -> Part:
    lengths = part.lengths.flatten().sort().values
    places = [round(share * (len(lengths) - 1)) for share in _QUANTILES]
    counts = torch.bincount(part.labels, minlength=splits.classes)
    return Part(
        name,
        len(part),
        *lengths[places].tolist(),
        labels=tuple((counts.double() / len(part)).tolist()),
        repeated=repeated(part),
        in_train=None if name == "train" else shared(splits.train, part),
    )


def check_data(task: Task, folder: Path, *, length: int, seed: int = 0) -> Verdict:
    """Read the data as training would, and say what is wrong with it, or how it differs.

    A sentence of a reader, a class without examples in a part that is not small, or a label that
    the task itself contradicts stands against the data; repeats and another size than the
    release's do not.
    """
    try:
        splits = read_task(task, folder, length=length, seed=seed)
    except VlasovError as error:
        return Verdict((str(error),), ok=False)
    wrong = (*_missing_classes(splits), *task.contradictions(splits))
    return Verdict((*_facts(task, splits), *splits.notes, *wrong), ok=not wrong)


def _facts(task: Task, splits: Splits) -> Iterable[str]:
    for part, official in zip(described(splits), RELEASE_SIZES[task.name], strict=True):
        size = "" if part.examples == official else f" (the release has {official:,})"
        again = f", {part.repeated:,} of them repeated" if part.repeated else ""
        yield (
            f"{part.part}: {part.examples:,} examples{size} of {part.shortest:,} to "
            f"{part.longest:,} tokens{again}"
        )


def _missing_classes(splits: Splits) -> Iterable[str]:
    for name, part in splits.parts().items():
        counts = torch.bincount(part.labels, minlength=splits.classes)
        missing = (counts == 0).nonzero().flatten().tolist()
        if missing and len(part) >= _ENOUGH * splits.classes:
            yield f"wrong: {name} has no example of class {', '.join(map(str, missing))}"
