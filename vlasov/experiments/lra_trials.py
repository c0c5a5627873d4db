"""The runs of a grid, in the order they are done, and what came of them."""

__all__ = ["Outcome", "Trial", "trials_of"]

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from vlasov.experiments.lra_arms import Arm
from vlasov.lra.training_result import TrainingResult


@dataclass(frozen=True)
class Trial:
    """One run: a task, an arm and a seed."""

    task: str
    arm: Arm
    seed: int

    @property
    def path(self) -> Path:
        """Its folder below that of the grid."""
        return Path(self.task) / self.arm.folder / f"seed-{self.seed}"

    def __str__(self) -> str:
        return f"{self.task}, {self.arm.name}, seed {self.seed}"


@dataclass(frozen=True)
class Outcome:
    """What came of a run: a result, or the sentence of what stopped it; neither before it."""

    trial: Trial
    result: TrainingResult | None = None
    failure: str | None = None


def trials_of(arms: Mapping[str, Sequence[Arm]], seeds: Sequence[int]) -> list[Trial]:
    """The arms of each task, seed by seed: a grid that is stopped has whole pairs."""
    return [Trial(task, arm, seed) for seed in seeds for task in arms for arm in arms[task]]
