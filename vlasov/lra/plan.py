"""A training before it starts: all that fixes it, and what it will tell."""

__all__ = ["Plan", "Report"]

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from vlasov.lra.recipe import Recipe
from vlasov.lra.splits import Splits
from vlasov.transformer import Diffusions


class Report(NamedTuple):
    """Where a training is, told after every step."""

    epoch: int
    epochs: int
    step: int
    steps: int
    loss: float
    seconds_left: float


@dataclass(frozen=True, eq=False)
class Plan:
    """All that fixes a training, checked; `identity` is what its checkpoints carry of it."""

    recipe: Recipe
    splits: Splits
    diffusions: Diffusions | None
    seed: int
    folder: Path
    identity: Mapping[str, Any]
    warmup: int
    checkpoint_seconds: float

    @property
    def steps(self) -> int:
        """Steps of the whole run, unless it stops early."""
        return self.recipe.steps(len(self.splits.train))
