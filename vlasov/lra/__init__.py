"""The Long Range Arena: its tasks as padded batches of tokens."""

from vlasov.lra.examples import Batch, Examples, stacked, stacked_bytes
from vlasov.lra.splits import Splits, held_out
from vlasov.lra.task import Task, majority
from vlasov.lra.tasks import TASKS, load_task

__all__ = [
    "TASKS",
    "Batch",
    "Examples",
    "Splits",
    "Task",
    "held_out",
    "load_task",
    "majority",
    "stacked",
    "stacked_bytes",
]
