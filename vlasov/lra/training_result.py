"""What a training found, as a file of strict JSON that reads back."""

__all__ = ["STATUSES", "TrainingResult", "read_result", "stored_result", "write_result"]

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from vlasov.atomic_file import write_json
from vlasov.errors import RunFolderError

STATUSES = ("finished", "stopped early", "interrupted", "diverged")
"""How a training may end; only an interrupted one can go on."""

_FILE = "result.json"


@dataclass(frozen=True)
class TrainingResult:
    """A training in numbers.

    Args:
        status: one of `STATUSES`.
        epochs: whole epochs.
        steps: steps of the optimiser.
        best_epoch: the epoch, from 0, that validation chose; None before the first validation.
        train_losses: means over the examples of each epoch, in nats.
        validation_losses: the same on held-out examples.
        validation_accuracies: the same in shares.
        test_accuracy: of the best epoch, measured once at the end; None for a run that did not
            get there.
        test_count: test examples behind it.
        seconds: of the whole run, validation and test included.
        step_seconds: the median of a step since the last start.
        parameters: the size of the model.
        alphas: the α of each diffusion layer by name, a mean over channels for each scale; of the
            best epoch once the test is taken.
        scales: the strides of these layers.
        weights: the learned shares of these scales.
        floors: accuracies that need no attention, from the data.
        memory: bytes at the peak since the last start, see `vlasov.lra.memory`; None for a run
            that shared its process with others.
    """

    status: str
    epochs: int
    steps: int
    best_epoch: int | None
    train_losses: tuple[float, ...]
    validation_losses: tuple[float, ...]
    validation_accuracies: tuple[float, ...]
    test_accuracy: float | None
    test_count: int
    seconds: float
    step_seconds: float
    parameters: int
    alphas: dict[str, list[float]] = field(default_factory=dict[str, list[float]])
    scales: dict[str, list[int]] = field(default_factory=dict[str, list[int]])
    weights: dict[str, list[float]] = field(default_factory=dict[str, list[float]])
    floors: dict[str, float] = field(default_factory=dict[str, float])
    memory: int | None = None

    @property
    def final(self) -> bool:
        """Whether there is nothing to go on with."""
        return self.status != "interrupted"


def write_result(folder: Path, result: TrainingResult) -> None:
    """Write the result of a run into its folder."""
    write_json(folder / _FILE, asdict(result))


def read_result(folder: Path) -> TrainingResult | None:
    """The result in the folder of a run; None where the run has not ended or stopped yet.

    Raises:
        RunFolderError: for a damaged file.
    """
    return stored_result(folder) if (folder / _FILE).exists() else None


def stored_result(folder: Path) -> TrainingResult:
    """The result that a run has left in its folder.

    Raises:
        RunFolderError: for a missing or damaged file.
    """
    path = folder / _FILE
    try:
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return TrainingResult(**{name: _read(value) for name, value in found.items()})
    except (ValueError, TypeError, AttributeError, OSError) as error:
        raise RunFolderError(
            f"'{path}' cannot be read as the result of a training ({type(error).__name__}). "
            "Delete it, if it is there, and resume the training."
        ) from None


def _read(value: Any) -> Any:  # noqa: ANN401 - whatever JSON holds
    """Lists back as tuples, and the words for infinities and NaN as numbers."""
    if isinstance(value, list):
        return tuple(map(_read, value))
    return float(value) if value in ("nan", "inf", "-inf") else value
