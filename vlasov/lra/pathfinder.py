"""Pathfinder: does one dashed contour join the two marks? One token for a pixel, two classes."""

__all__ = ["DIFFICULTIES", "Pathfinder"]

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from vlasov.catalogue import nearest
from vlasov.errors import InvalidValue
from vlasov.lra.examples import Examples
from vlasov.lra.folders import find_folder
from vlasov.lra.grey import cut_note, empty_note, grey_examples
from vlasov.lra.image_files import SIDE
from vlasov.lra.pathfinder_files import LISTS, PICTURES, Labelled, read_labelled, write_labelled
from vlasov.lra.pathfinder_maker import draw, parameters
from vlasov.lra.splits import Splits
from vlasov.lra.task import Task

DIFFICULTIES = {"curv_baseline": 6, "curv_contour_length_9": 9, "curv_contour_length_14": 14}
"""Paddles of a long contour by the name of the folder."""

_RELEASE = "pathfinder32"
_TENTHS = 10  # one part each for validation and test
_TOGETHER = 1000  # images in a numbered folder, as in the release


@dataclass(frozen=True)
class Pathfinder(Task):
    """Images of one difficulty in a seeded split of 80, 10 and 10 parts of a hundred.

    Args:
        difficulty: the folder of the release; the one whose results are reported unless given.
        parity: mask black pixels as padding, as the published code does.
    """

    name: ClassVar[str] = "pathfinder"
    title: ClassVar[str] = "Whether a dashed contour joins the two marks of a 32 × 32 image."
    classes: ClassVar[int] = 2
    vocabulary: ClassVar[int] = 257
    length: ClassVar[int] = SIDE * SIDE
    source: ClassVar[str] = "its generator, or 'pathfinder32' of the Long Range Arena release"

    difficulty: str = "curv_contour_length_14"
    parity: bool = False

    def __post_init__(self) -> None:
        if self.difficulty not in DIFFICULTIES:
            raise nearest(self.difficulty, DIFFICULTIES, kind="difficulty of pathfinder")

    def load(self, folder: Path, *, length: int, seed: int) -> Splits:
        """The images of the difficulty; the seed decides which are for validation and test."""
        found = read_labelled(self._place(folder))
        count, part = len(found.labels), max(1, len(found.labels) // _TENTHS)
        if count < 3:
            raise InvalidValue(
                f"A split needs three images but '{folder}' has {count} that are not empty. "
                "Make or copy more."
            )
        order = np.random.default_rng(seed).permutation(count)
        train, validation, test = np.split(order, [count - 2 * part, count - part])
        return self.splits(
            self._examples(found, train, length),
            self._examples(found, validation, length),
            self._examples(found, test, length),
            (*empty_note(found.empty), *cut_note(self.length, length)),
        )

    def _place(self, folder: Path) -> Path:
        """The folder of the difficulty: the given one, or one below it."""
        if folder.name == self.difficulty and (folder / PICTURES).is_dir():
            return find_folder(folder, (PICTURES, LISTS), task=self.name)
        below = (path for depth in range(4) for path in folder.glob("*/" * depth + _RELEASE))
        # The whole release holds larger images in folders beside this one.
        inner = Path(_RELEASE if folder.name != _RELEASE and any(below) else "", self.difficulty)
        parts = [str(inner / part) for part in (PICTURES, LISTS)]
        return find_folder(folder, parts, task=self.name) / inner

    def _examples(self, found: Labelled, rows: npt.NDArray[np.int64], length: int) -> Examples:
        kept = np.sort(rows)
        return grey_examples(
            found.levels[kept], found.labels[kept], length=length, parity=self.parity
        )

    def make(
        self,
        folder: Path,
        *,
        count: int,
        seed: int,
        watch: Callable[[int], None] | None = None,
    ) -> None:
        """Images of our own in the layout of the release, enough for `count` train examples."""
        if count < 1:
            raise InvalidValue(
                f"Making images needs a count of at least 1 but got {count}. Raise it."
            )
        total = _whole(count)
        paddles = DIFFICULTIES[self.difficulty]
        for part, first in enumerate(range(0, total, _TOGETHER)):
            numbers = range(first, min(first + _TOGETHER, total))
            drawn = _watched(paddles, seed, numbers, watch)
            write_labelled(folder / self.difficulty, part, drawn, parameters=parameters(paddles))


def _whole(train: int) -> int:
    """The number of images whose split leaves at least so many for train."""
    return max(train + 2, math.ceil(train * _TENTHS / (_TENTHS - 2)))


def _watched(
    paddles: int, seed: int, numbers: range, watch: Callable[[int], None] | None
) -> Iterator[tuple[npt.NDArray[np.uint8], int]]:
    for number in numbers:
        drawing = draw(paddles, seed=seed, index=number)
        yield drawing.levels, drawing.label
        if watch is not None:
            watch(number + 1)
