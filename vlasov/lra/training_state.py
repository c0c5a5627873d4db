"""Where a training is: numbers that a checkpoint carries beside weights and optimiser."""

__all__ = ["EpochRow", "TrainingState", "identity_of"]

import hashlib
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

import torch

from vlasov.lra.early_stopping import EarlyStopping
from vlasov.lra.recipe import Recipe
from vlasov.lra.splits import Splits


class EpochRow(NamedTuple):
    """What is known of an epoch; losses are means over examples, in nats."""

    epoch: int
    steps: int
    rate: float
    train_loss: float
    validation_loss: float
    validation_accuracy: float
    seconds: float


@dataclass
class TrainingState:
    """The place in the run, and what was measured up to it.

    `position` counts the batches done in the epoch; where it is all of them, the validation is
    still to come. `loss_sum` and `loss_count` are over the examples of the epoch so far.
    """

    epoch: int = 0
    position: int = 0
    step: int = 0
    loss_sum: float = 0.0
    loss_count: int = 0
    seconds: float = 0.0
    rows: list[EpochRow] = field(default_factory=list[EpochRow])
    curve: list[tuple[float, float]] = field(default_factory=list[tuple[float, float]])

    def took_step(self, loss: float, norm: float, count: int) -> None:
        """Count a step of this mean loss over `count` examples and this norm of the gradient."""
        self.position += 1
        self.step += 1
        self.loss_sum += loss * count
        self.loss_count += count
        self.curve.append((loss, norm))

    def took_epoch(self, *, rate: float, loss: float, accuracy: float) -> None:
        """Close an epoch by its validation."""
        train = self.loss_sum / self.loss_count
        row = EpochRow(self.epoch, self.step, rate, train, loss, accuracy, self.seconds)
        self.rows.append(row)
        self.epoch += 1
        self.position, self.loss_sum, self.loss_count = 0, 0.0, 0

    def stopping(self, patience: int) -> EarlyStopping:
        """Best is the highest validation accuracy, of equal ones the lowest loss."""
        scores = [(-row.validation_accuracy, row.validation_loss) for row in self.rows]
        return EarlyStopping(patience, scores)

    def content(self) -> dict[str, Any]:
        """Numbers and tensors that the weights-only loader accepts."""
        curve = torch.tensor(self.curve, dtype=torch.float64).view(-1, 2)
        return vars(self) | {"rows": [tuple(row) for row in self.rows], "curve": curve}

    @classmethod
    def from_content(cls, content: dict[str, Any]) -> "TrainingState":
        """The state that `content` was written from."""
        rows = [EpochRow(*row) for row in content["rows"]]
        curve = [(loss, norm) for loss, norm in content["curve"].tolist()]
        plain = {name: content[name] for name in content if name not in ("rows", "curve")}
        return cls(**plain, rows=rows, curve=curve)


def identity_of(recipe: Recipe, splits: Splits, diffusions: str, seed: int) -> dict[str, Any]:
    """What must be the same for a run to go on: recipe, diffusions, seed and every example."""
    data = hashlib.sha256()
    for name, part in splits.parts().items():
        data.update(f"{name} {part.digest()} ".encode())
    fixed = {"diffusions": diffusions, "seed": seed, "data": data.hexdigest()[:16]}
    return asdict(recipe) | fixed
