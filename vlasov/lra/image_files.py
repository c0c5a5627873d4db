"""CIFAR-10 on disk: binary records, pickled batches, or folders of PNG files.

A binary record is one byte of label and 3 × 32 × 32 bytes of colour, plane after plane; pickled
batches hold the same bytes as arrays; folders are called train/CLASS and test/CLASS, by the name
or the number of the class.
"""

__all__ = ["CLASSES", "SIDE", "Pictures", "find_pictures", "read_picture"]

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from PIL import Image

from vlasov.catalogue import nearest
from vlasov.errors import InvalidValue
from vlasov.lra.folders import find_folder
from vlasov.lra.image_pickles import read_pickle

SIDE = 32
CLASSES = (
    *("airplane", "automobile", "bird", "cat", "deer"),
    *("dog", "frog", "horse", "ship", "truck"),
)
_NUMBERS = {**{name: i for i, name in enumerate(CLASSES)}, **{str(i): i for i in range(10)}}
_COLOURS = 3 * SIDE * SIDE
_BATCHES = (*(f"data_batch_{i}" for i in range(1, 6)), "test_batch")
_BINARY = tuple(f"{name}.bin" for name in _BATCHES)


class Pictures(NamedTuple):
    """Colours of shape (m, 3, 32, 32), their classes, and the names of empty files."""

    colours: npt.NDArray[np.uint8]
    labels: npt.NDArray[np.int64]
    empty: tuple[str, ...] = ()


class PictureFiles(NamedTuple):
    """Where the pictures are, as which files, and how one of these is read."""

    place: Path
    train: Sequence[str]
    test: str
    reader: Callable[[Path], Pictures]
    by_class: bool

    def read(self) -> tuple[Pictures, Pictures]:
        """The train and the test pictures.

        Raises:
            InvalidValue: for a damaged or mislabelled file, by name.
        """
        parts = [self.reader(self.place / name) for name in self.train]
        train = Pictures(
            np.concatenate([part.colours for part in parts]),
            np.concatenate([part.labels for part in parts]),
            tuple(name for part in parts for name in part.empty),
        )
        return train, self.reader(self.place / self.test)


def find_pictures(folder: Path) -> PictureFiles:
    """The files at or below a folder; binary records before pickles, pickles before PNG.

    Raises:
        InvalidValue: for none, a part missing, or two copies.
    """
    below = [folder, *(path for depth in (1, 2, 3) for path in folder.glob("*/" * depth))]
    classes = [name for name in _NUMBERS if _any_holds(below, [f"train/{name}"])]
    if _any_holds(below, _BINARY) or not (_any_holds(below, _BATCHES) or classes):
        place = find_folder(folder, _BINARY, task="image")
        return PictureFiles(place, _BINARY[:-1], _BINARY[-1], _read_binary, by_class=False)
    if _any_holds(below, _BATCHES):
        place = find_folder(folder, _BATCHES, task="image")
        return PictureFiles(place, _BATCHES[:-1], _BATCHES[-1], _read_pickled, by_class=False)
    parts = [f"{part}/{name}" for part in ("train", "test") for name in classes]
    place = find_folder(folder, parts, task="image")
    return PictureFiles(place, ("train",), "test", _read_classes, by_class=True)


def _any_holds(places: Sequence[Path], names: Sequence[str]) -> bool:
    return any((place / name).exists() for place in places for name in names)


def _read_binary(path: Path) -> Pictures:
    content = np.fromfile(path, dtype=np.uint8)
    if not content.size or content.size % (1 + _COLOURS):
        raise InvalidValue(
            f"A binary batch holds whole records of {1 + _COLOURS:,} bytes but '{path}' has "
            f"{content.size:,} bytes. Copy the file again."
        )
    records = content.reshape(-1, 1 + _COLOURS)
    return _labelled(records[:, 1:], records[:, 0].astype(np.int64), path)


def _read_pickled(path: Path) -> Pictures:
    return _labelled(*read_pickle(path, width=_COLOURS), path)


def _labelled(rows: npt.NDArray[np.uint8], labels: npt.NDArray[np.int64], path: Path) -> Pictures:
    wrong = np.flatnonzero((labels < 0) | (labels >= len(CLASSES)))
    if wrong.size:
        raise InvalidValue(
            f"CIFAR-10 has the labels 0 to {len(CLASSES) - 1} but record {wrong[0]} of '{path}' "
            f"has {labels[wrong[0]]}. Check that the file is CIFAR-10."
        )
    return Pictures(rows.reshape(-1, 3, SIDE, SIDE), labels)


def _read_classes(path: Path) -> Pictures:
    folders = sorted(inner for inner in path.iterdir() if inner.is_dir())
    files = [(file, _class_of(one)) for one in folders for file in sorted(one.glob("*.png"))]
    full = [(file, label) for file, label in files if file.stat().st_size]
    if not full:
        raise InvalidValue(
            f"Pictures by class are files CLASS/NAME.png but '{path}' has none that is not "
            "empty. Check the path."
        )
    colours = np.stack([read_picture(file, mode="RGB") for file, _ in full])
    return Pictures(
        colours.transpose(0, 3, 1, 2),
        np.array([label for _, label in full], dtype=np.int64),
        tuple(str(file.relative_to(path.parent)) for file, _ in files if not file.stat().st_size),
    )


def _class_of(folder: Path) -> int:
    """The class that a folder is named by, in words or as a number."""
    if folder.name not in _NUMBERS:
        raise nearest(folder.name, _NUMBERS, kind=f"class in '{folder.parent}'")
    return _NUMBERS[folder.name]


def read_picture(path: Path, *, mode: str) -> npt.NDArray[np.uint8]:
    """The bytes of a picture of 32 × 32 pixels in a mode of PIL, ``L`` or ``RGB``.

    Raises:
        InvalidValue: for a damaged file or another size, by name.
    """
    try:
        with Image.open(path) as image:
            pixels = np.asarray(image.convert(mode))
    except (OSError, SyntaxError) as error:  # PIL calls a broken chunk of PNG a syntax error
        raise InvalidValue(
            f"A picture must be an image file but '{path}' cannot be read ({error}). "
            "Copy it again, or remove it with its label."
        ) from None
    if pixels.shape[:2] != (SIDE, SIDE):
        raise InvalidValue(
            f"Pictures must have {SIDE} × {SIDE} pixels but '{path}' has {pixels.shape[1]} × "
            f"{pixels.shape[0]}. Give the release of that size."
        )
    return pixels
