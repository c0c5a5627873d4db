"""Numbers of runs by task, arm and seed, read from the table of runs; by place in the paper."""

__all__ = ["BASE", "Place", "Scores", "Seeds", "floor_of", "of_places", "scores_of", "seeds_at"]

from collections.abc import Mapping

from vlasov.experiments.lra_arms import BASELINE, Arm
from vlasov.experiments.report import Table

Seeds = Mapping[int, float]
"""A number of each seed."""

Scores = Mapping[tuple[str, str], Seeds]
"""Task and arm, then seed; arms that were run but have no number are there, without seeds."""

_OF_ONE_TOKEN = ("chance", "majority", "root operator")

Place = tuple[str, tuple[int, ...]]
"""Position and scales."""

BASE: Place = (BASELINE, ())
"""The place of the baseline."""


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


def of_places(scores: Scores, task: str) -> dict[Place, Seeds]:
    """The arms of one task that have a place in the paper: one position at given scales."""
    placed = {Arm(arm).place: seeds for (name, arm), seeds in scores.items() if name == task}
    return {place: seeds for place, seeds in placed.items() if place is not None}


def seeds_at(found: Mapping[Place, Seeds], place: Place) -> Seeds:
    """Those of an arm; empty where it was not run."""
    return found.get(place, {})
