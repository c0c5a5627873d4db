"""The Long Range Arena: its tasks as padded batches of tokens, and models trained on them."""

from vlasov.lra.examples import Batch, Examples, stacked, stacked_bytes
from vlasov.lra.lra_model import build_model
from vlasov.lra.recipe import Recipe, recipe
from vlasov.lra.splits import Splits, held_out
from vlasov.lra.task import Task, majority
from vlasov.lra.tasks import TASKS, load_task
from vlasov.lra.trainer import train
from vlasov.lra.training_result import TrainingResult, read_result

__all__ = [
    "TASKS",
    "Batch",
    "Examples",
    "Recipe",
    "Splits",
    "Task",
    "TrainingResult",
    "build_model",
    "held_out",
    "load_task",
    "majority",
    "read_result",
    "recipe",
    "stacked",
    "stacked_bytes",
    "train",
]
