"""Image: grey CIFAR-10, one token for a pixel, ten classes."""

__all__ = ["Image"]

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np

from vlasov.errors import InvalidValue
from vlasov.lra.examples import Examples
from vlasov.lra.grey import cut_note, empty_note, grey_examples, luma
from vlasov.lra.image_files import CLASSES, SIDE, Pictures, find_pictures
from vlasov.lra.splits import Splits
from vlasov.lra.task import Task

_HELD_OUT = 10  # the last train picture of so many is for validation, as published
_BLOCK = 256  # pictures whose sums fit into the cache


@dataclass(frozen=True)
class Image(Task):
    """Pictures as rows of grey levels; the last tenth of train is the validation.

    Args:
        rounding: round the grey levels as PIL does instead of cutting them as published.
        parity: mask black pixels as padding, as the published code does.
    """

    name: ClassVar[str] = "image"
    title: ClassVar[str] = "The class of a grey picture of 32 × 32 pixels, read row by row."
    classes: ClassVar[int] = len(CLASSES)
    vocabulary: ClassVar[int] = 257
    length: ClassVar[int] = SIDE * SIDE
    source: ClassVar[str] = "CIFAR-10: 'cifar-10-batches-bin', 'cifar-10-batches-py' or PNG files"

    rounding: bool = False
    parity: bool = False

    def load(self, folder: Path, *, length: int, seed: int) -> Splits:
        """The pictures of CIFAR-10; the seed shuffles those that lie in one folder per class."""
        files = find_pictures(folder)
        train, test = files.read()
        notes = (*empty_note(train.empty + test.empty), *cut_note(self.length, length))
        if files.by_class:  # the last tenth in order of the files would be of one class
            train = _shuffled(train, seed)
            notes = (*notes, f"train pictures in folders shuffled with seed {seed}")
        kept = len(train.labels) - max(1, len(train.labels) // _HELD_OUT)
        if not kept:
            raise InvalidValue(
                f"Holding out a part needs two train pictures but '{files.place}' has one. "
                "Add pictures."
            )
        return self.splits(
            self._examples(train, slice(kept), length),
            self._examples(train, slice(kept, None), length),
            self._examples(test, slice(None), length),
            notes,
        )

    def _examples(self, pictures: Pictures, part: slice, length: int) -> Examples:
        colours = pictures.colours[part]
        blocks = np.array_split(colours, len(colours) // _BLOCK + 1)
        levels = np.concatenate([luma(block, rounding=self.rounding) for block in blocks])
        return grey_examples(levels, pictures.labels[part], length=length, parity=self.parity)


def _shuffled(pictures: Pictures, seed: int) -> Pictures:
    order = np.random.default_rng(seed).permutation(len(pictures.labels))
    return Pictures(pictures.colours[order], pictures.labels[order], pictures.empty)
