"""A task of the Long Range Arena: how its files are read, made, checked and described.

Source: Tay et al., Long Range Arena, arXiv:2011.04006.
"""

__all__ = ["Task", "majority"]

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import torch

from vlasov.errors import Unsupported
from vlasov.lra.examples import Examples
from vlasov.lra.splits import Splits


@dataclass(frozen=True)
class Task(ABC):
    """One task; the class variables are facts of it, the fields options of its reader.

    A subclass sets `name`, `title`, `classes`, `vocabulary`, `length` and `source`, and writes
    `load`; `towers` where an example is a pair, `floors` where a better guess than the
    majority needs no attention, `generate` and `make` where there is a generator, and
    `contradictions` where labels can be recomputed.
    """

    name: ClassVar[str]
    title: ClassVar[str]  # one line for a list of tasks
    classes: ClassVar[int]
    vocabulary: ClassVar[int]  # with 0 for padding
    length: ClassVar[int]  # the longest sequence, unless another length is asked for
    source: ClassVar[str]  # where its data comes from
    towers: ClassVar[int] = 1

    @abstractmethod
    def load(self, folder: Path, *, length: int, seed: int) -> Splits:
        """The examples in a folder: the task's own, or the one of the data of all tasks.

        Args:
            folder: where the files are.
            length: the most tokens of a sequence; what is cut is counted in the notes.
            seed: of the choice of held-out examples.

        Raises:
            InvalidValue: for missing, half or damaged files, named.
        """

    def generate(self, *, length: int, limit: int | None, seed: int) -> Splits:
        """Examples drawn on the spot, without any file.

        Raises:
            Unsupported: for a task whose examples are read.
        """
        raise Unsupported(
            f"Loading '{self.name}' needs a folder of data but got none. Its data comes from "
            f"{self.source}."
        )

    def floors(self, train: Examples, test: Examples) -> dict[str, float]:
        """Accuracies on the test of guesses fitted on train, by name."""
        return {"majority": majority(train, test)}

    def contradictions(self, splits: Splits) -> Iterable[str]:
        """Sentences on labels that disagree with what the task itself says; usually none."""
        return ()

    def make(
        self,
        folder: Path,
        *,
        count: int,
        seed: int,
        watch: Callable[[int], None] | None = None,
    ) -> None:
        """Generate files in the layout of the release into a folder.

        Args:
            folder: where to write; see `vlasov.lra.folders.fresh_folder`.
            count: the number of train examples.
            seed: of the generator.
            watch: called with the number of examples made so far.

        Raises:
            Unsupported: for a task whose data cannot be generated.
        """
        raise Unsupported(
            f"Making data needs a generator but '{self.name}' has none. Its data comes from "
            f"{self.source}; put it into a folder and run 'vlasov data check {self.name}'."
        )

    def splits(
        self, train: Examples, validation: Examples, test: Examples, notes: tuple[str, ...] = ()
    ) -> Splits:
        """Three parts of this task, with its floors."""
        return Splits(
            task=self.name,
            train=train,
            validation=validation,
            test=test,
            vocabulary=self.vocabulary,
            classes=self.classes,
            notes=notes,
            floors=self.floors(train, test),
        )


def majority(train: Examples, test: Examples) -> float:
    """The accuracy on the test of the commonest label of train."""
    guess = torch.bincount(train.labels).argmax()
    return (test.labels == guess).double().mean().item()
