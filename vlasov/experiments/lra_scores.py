"""Numbers of runs by task, arm and seed, read from the table of runs; by place in the paper."""

__all__ = ["Place", "Scores", "floor_of", "of_places", "scores_of"]

from collections.abc import Mapping

from vlasov.experiments.lra_arms import Arm
from vlasov.experiments.report import Table

Scores = Mapping[tuple[str, str], Mapping[int, float]]
"""Task and arm, then seed; arms that were run but have no number are there, without seeds."""

_OF_ONE_TOKEN = ("chance", "majority", "root operator")

Place = tuple[str, tuple[int, ...]]
"""Position and scales."""


def scores_of(runs: Table, column: str = "test_accuracy") -> Scores:
    """One column of the table of runs; runs without that number are left out."""
    names = ("task", "diffusion", "seed", column)
    found: dict[tuple[str, str], dict[int, float]] = {}
    for task, arm, seed, value in zip(*map(runs.column, names), strict=True):
        seeds = found.setdefault((str(task), str(arm)), {})
        if value is not None:
            seeds[int(seed or 0)] = float(value)
    return found


def floor_of(guesses: Mapping[str, float]) -> float:
    """The best of the guesses that read one token at most: what proves nothing was related.

    Example:
        >>> floor_of({"majority": 0.17, "root operator": 0.36, "one level": 0.59})
        0.36
    """
    return max(accuracy for name, accuracy in guesses.items() if name in _OF_ONE_TOKEN)


def of_places(scores: Scores, task: str) -> dict[Place, Mapping[int, float]]:
    """The arms of one task that have a place in the paper: one position at given scales."""
    placed = {Arm(arm).place: seeds for (name, arm), seeds in scores.items() if name == task}
    return {place: seeds for place, seeds in placed.items() if place is not None}
