"""Logs of a training: tables for every program, and TensorBoard where it is installed."""

__all__ = ["EPOCHS_FILE", "STEPS_FILE", "TrainingLog"]

from pathlib import Path

from vlasov.atomic_file import write_rows
from vlasov.lra.event_file import event_file
from vlasov.lra.training_state import EpochRow, TrainingState

EPOCHS_FILE = "metrics.csv"
STEPS_FILE = "steps.csv"
_CURVES = ("train_loss", "validation_loss", "validation_accuracy", "rate")


class TrainingLog:
    """Writes ``metrics.csv`` (a row per epoch) and ``steps.csv`` (loss and norm of each step).

    Both are written whole from the state, so that a resumed run has each row once.
    """

    def __init__(self, folder: Path, state: TrainingState) -> None:
        self._folder = folder
        self._board = event_file(folder / "tensorboard", state.epoch)

    def epoch(self, state: TrainingState) -> None:
        """Write the tables, and the curves of the last epoch."""
        self.tables(state)
        if self._board is not None and state.rows:
            row = state.rows[-1]._asdict()
            self._board.scalars({name: row[name] for name in _CURVES}, row["epoch"])

    def tables(self, state: TrainingState) -> None:
        """Write the tables."""
        write_rows(self._folder / EPOCHS_FILE, EpochRow._fields, state.rows)
        steps = [(i, *measured) for i, measured in enumerate(state.curve)]
        write_rows(self._folder / STEPS_FILE, ("step", "loss", "gradient_norm"), steps)
