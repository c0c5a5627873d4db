"""The settings of `vlasov train`; what is left out comes from the preset of task and size."""

__all__ = ["LraChoices", "LraConfig"]

import dataclasses
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from vlasov.errors import InvalidValue
from vlasov.experiments.lra_arms import BASELINE, Arm, every_arm, read_arms
from vlasov.experiments.settings import choice, option
from vlasov.lra.recipe import Recipe, recipe


def _free(default: Any, text: str) -> Any:  # noqa: ANN401 - the type of any field
    """An option that may change when a run goes on: no number depends on it."""
    return field(default=default, metadata={"help": text}, compare=False)


@dataclass(frozen=True)
class LraChoices:
    """Every choice but the tasks and the arms, flat, in words and numbers."""

    data: str | None = _free(
        None, "Folder of the data of all tasks, or of the one task. See `vlasov data`."
    )
    generate: tuple[str, ...] = option(
        (), "Tasks whose examples are generated instead of read, such as listops."
    )
    size: str = option(
        "cpu", "Preset: tiny (seconds), cpu (minutes to hours of two cores), paper (a GPU)."
    )
    grid: bool = option(
        False, "All seven positions at scales 1, 2, 4 and 1,2,4, beside the baseline."
    )
    seeds: int = option(1, "Number of seeds; each draws its weights and the order of the data.")
    seed: int = option(0, "The first seed; the others follow.")
    workers: int | None = _free(
        None, "Runs at the same time, one process each. Default: one, or one for each GPU."
    )
    devices: int = option(1, "GPUs or processes that share each run. Needs the extra 'train'.")
    epochs: int | None = option(None, "Passes over the train examples, at most.")
    train_examples: int | str | None = option(
        None,
        "The most train examples, and a quarter of it for validation and for the test each; of "
        "one task alone as listops=4000,text=2000.",
    )
    length: int | None = option(None, "The most tokens of a sequence.")
    width: int | None = option(None, "Numbers per token.")
    depth: int | None = option(None, "Number of layers.")
    heads: int | None = option(None, "Number of attention heads.")
    mlp_width: int | None = option(None, "Hidden width of the MLP.")
    batch: int | None = option(None, "Sequences in a step.")
    accumulate: int | None = option(None, "Parts that a batch is summed over, for less memory.")
    learning_rate: float | None = option(None, "Peak of the learning rate.")
    warmup: float | None = option(None, "Steps of linear rise; below 1, a share of all steps.")
    weight_decay: float | None = option(None, "Weight decay of AdamW, of matrices alone.")
    clip: float | None = option(None, "Largest norm of a gradient.")
    dropout: float | None = option(None, "Share of numbers dropped.")
    patience: int | None = option(
        None, "Epochs without a better validation before a run stops; 0 for never."
    )
    precision: str | None = option(None, "Number format: float32, float64, bfloat16.")
    as_published: bool = option(False, "Keep a warm-up that outlasts the run, as in the paper.")


@dataclass(frozen=True)
class LraConfig(LraChoices):
    """Every choice of `vlasov train`.

    Raises:
        UnknownName: for an unknown task, size, position or precision.
        InvalidValue: for a number outside its range, or choices that exclude each other.
    """

    tasks: tuple[str, ...] = option((), "Tasks of the Long Range Arena.")
    diffusion: str = option("", "Arms, separated by blanks, or by a comma before a letter.")

    def __post_init__(self) -> None:
        if not self.tasks:
            raise InvalidValue("A run needs a task but got none. Name one, such as listops.")
        for name in (names := self.names):
            if names.count(name) > 1:
                raise InvalidValue(f"The task '{name}' is asked for twice. Name it once.")
            self.recipe(name)
        if self.data is not None and not self.data.strip():
            raise InvalidValue("'data' names a folder but is empty. Give one, or leave it out.")
        for name in self.generate:
            choice(name, names, name="task to generate")
        for name in ("seeds", "workers", "devices"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise InvalidValue(f"'{name}' must be at least 1 but is {value}. Raise it.")
        self._check_arms()

    @property
    def arms(self) -> tuple[Arm, ...]:
        """The arms, the baseline first."""
        return read_arms(every_arm() if self.grid else self.diffusion or BASELINE)

    @property
    def all_seeds(self) -> range:
        """The seeds."""
        return range(self.seed, self.seed + self.seeds)

    @property
    def names(self) -> tuple[str, ...]:
        """The tasks without the options of their readers."""
        return tuple(spec.partition(":")[0] for spec in self.tasks)

    def source(self, task: str) -> tuple[str, Path | None]:
        """The spec of a task, and where its data is; None to generate it."""
        spec = self.tasks[self.names.index(task)]
        return spec, None if self.data is None or task in self.generate else Path(self.data)

    def recipe(self, task: str) -> Recipe:
        """The preset of a task with what is given in its place."""
        given = {
            field.name: getattr(self, field.name)
            for field in dataclasses.fields(Recipe)
            if field.name not in ("task", "size", "limit")
        } | {"limit": self._limit(task)}
        changed = {name: value for name, value in given.items() if value is not None}
        return dataclasses.replace(recipe(task, self.size), **changed)

    def _limit(self, task: str) -> int | None:
        """The most train examples of a task; None for those of the preset."""
        if not isinstance(self.train_examples, str):
            return self.train_examples
        limits: dict[str, int] = {}
        for part in self.train_examples.split(","):
            name, _, count = (word.strip() for word in part.partition("="))
            if not re.fullmatch("[0-9]+", count):
                raise InvalidValue(
                    f"'train-examples' takes a whole number, or one for a task as in "
                    f"listops=4000,text=2000, but got '{part.strip()}'. Correct it."
                )
            choice(name, self.names, name="task to limit")
            limits[name] = int(count)
        return limits.get(task)

    def _check_arms(self) -> None:
        if self.grid and self.diffusion:
            raise InvalidValue("'grid' and 'diffusion' both name the arms. Give one of the two.")
        if self.devices > 1 and (self.workers or 1) > 1:
            raise InvalidValue(
                f"Runs at the same time ('workers' {self.workers}) share no devices "
                f"('devices' {self.devices}). Leave one of the two at 1."
            )
        _ = self.arms
