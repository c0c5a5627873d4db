"""What is known of a task before anything is learnt: its floors, its data, its possible arms."""

__all__ = ["TaskFacts", "task_facts"]

import warnings
from collections.abc import Mapping
from dataclasses import dataclass

from vlasov.errors import InvalidValue, VlasovError
from vlasov.experiments.lra_arms import Arm
from vlasov.experiments.lra_config import LraConfig
from vlasov.lra import Splits, load_task
from vlasov.lra.lra_model import build_model
from vlasov.lra.recipe import Recipe


@dataclass(frozen=True)
class TaskFacts:
    """One task.

    Args:
        floors: accuracies on the test of guesses, by name; ``chance`` is one in the classes.
        notes: sentences about data and training.
        arms: those that its model can have.
    """

    floors: Mapping[str, float]
    notes: tuple[str, ...]
    arms: tuple[Arm, ...]


def task_facts(config: LraConfig, task: str) -> TaskFacts:
    """The facts of a task; of a whole grid, arms that its model cannot have are left out.

    Raises:
        VlasovError: for data that cannot be read, or an arm asked for by name that cannot be.
    """
    recipe = config.recipe(task)
    spec, data = config.source(task)
    splits = load_task(spec, data, length=recipe.length, limit=recipe.limit)
    arms: list[Arm] = []
    refused: list[str] = []
    for arm in config.arms:
        try:
            build_model(recipe, splits, arm.diffusions, config.seed)
            _require_rows(splits, arm)
        except VlasovError as error:
            if not config.grid:
                raise
            refused.append(f"{arm.name} is left out. {error}")
        else:
            arms.append(arm)
    notes = (_sizes(splits, recipe), *splits.notes, *_warmup(splits, recipe), *refused)
    guesses = {"chance": 1 / splits.classes, **splits.floors}
    return TaskFacts(guesses, notes, tuple(arms))


def _require_rows(splits: Splits, arm: Arm) -> None:
    """Refuse strides along positions that the shortest sequence does not have."""
    along = [one for place, one in arm.diffusions if place != "across-heads"]
    largest = max((max(one.scales) for one in along), default=0)
    first = splits.train.towers - 1  # pairs have a token in front
    shortest = min(int(part.lengths.min()) for part in splits.parts().values()) + first
    if largest > shortest:
        raise InvalidValue(
            f"Diffusion '{arm.name}' has strides up to {largest} but the shortest sequence of "
            f"'{splits.task}' has {shortest} tokens. Lower its scales."
        )


def _sizes(splits: Splits, recipe: Recipe) -> str:
    sizes = ", ".join(f"{len(part)} {name}" for name, part in splits.parts().items())
    return f"{sizes} examples of at most {recipe.length} tokens."


def _warmup(splits: Splits, recipe: Recipe) -> list[str]:
    """The warning of a warm-up that is cut, once for all runs."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        recipe.warmup_steps(recipe.steps(len(splits.train)))
    return [str(one.message) for one in caught]
