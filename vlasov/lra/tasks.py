"""The tasks by name, and the one function that loads any of them."""

__all__ = ["TASKS", "load_task", "read_task", "task_length"]

from dataclasses import replace
from pathlib import Path

from vlasov.catalogue import Catalogue
from vlasov.errors import InvalidValue
from vlasov.lra.image import Image
from vlasov.lra.listops import ListOps
from vlasov.lra.pathfinder import Pathfinder
from vlasov.lra.retrieval import Retrieval
from vlasov.lra.splits import Splits
from vlasov.lra.task import Task
from vlasov.lra.text import Text

TASKS: Catalogue[Task] = Catalogue("task", [ListOps, Text, Retrieval, Pathfinder, Image])


def load_task(
    name: str,
    folder: Path | None,
    *,
    length: int | None = None,
    limit: int | None = None,
    seed: int = 0,
) -> Splits:
    """The examples of a task, read from a folder; without one, ListOps is generated.

    Args:
        name: of the task, with options of its reader such as ``text:decode=true`` if any.
        folder: the folder of the data of all tasks, or of this one.
        length: the most tokens of a sequence; none for the usual length of the task.
        limit: the most train examples; each other part has at most a quarter of that.
        seed: of held-out examples, of the choice under a limit, and of generated examples.

    Raises:
        UnknownName: for an unknown task or option.
        InvalidValue: for files that are missing or damaged.
        Unsupported: without a folder, for a task that cannot be generated.
    """
    task = TASKS.build(name)
    most = task_length(task, length)
    if folder is None:
        return task.generate(length=most, limit=limit, seed=seed)
    found = read_task(task, folder, length=most, seed=seed)
    if limit is None:
        return found
    small = found.limited(limit, seed=seed)
    return replace(small, floors=task.floors(small.train, small.test))


def read_task(task: Task, folder: Path, *, length: int, seed: int) -> Splits:
    """What a task loads; a file that cannot be opened is refused like a damaged one."""
    try:
        return task.load(folder, length=length, seed=seed)
    except OSError as error:
        raise InvalidValue(
            f"The data of '{task.name}' needs files that can be read but '{error.filename}' is "
            f"none ({error.strerror}). Check its kind and rights."
        ) from None


def task_length(task: Task, length: int | None) -> int:
    """The length that is asked for, or the usual one of the task."""
    if length is not None and length < 1:
        raise InvalidValue(
            f"A sequence needs a length of at least 1 but got {length}. Leave it out for "
            f"{task.length}."
        )
    return length or task.length
