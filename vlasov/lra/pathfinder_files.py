"""Pathfinder on disk: numbered folders of PNG files, and a list of labels for each.

A difficulty holds ``imgs/K/sample_I.png`` and ``metadata/K.npy``. Despite its suffix, the list of
the release is text: a line for each picture with folder, file, number, label, and seven
parameters. The generator it came from writes a real NumPy array; both are read.
"""

__all__ = ["LISTS", "PICTURES", "Labelled", "read_labelled", "write_labelled"]

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from PIL import Image

from vlasov.errors import InvalidValue
from vlasov.lra.image_files import read_picture

PICTURES, LISTS = "imgs", "metadata"
_FIELDS = 11
_MAGIC = b"\x93NUMPY"


class Labelled(NamedTuple):
    """Grey levels of shape (m, 32, 32), labels, and the names of empty files without either."""

    levels: npt.NDArray[np.uint8]
    labels: npt.NDArray[np.int64]
    empty: tuple[str, ...] = ()


class _Entry(NamedTuple):
    path: Path
    label: int

    @property
    def name(self) -> str:
        """The path inside the difficulty."""
        return "/".join(self.path.parts[-3:])


def read_labelled(difficulty: Path) -> Labelled:
    """All pictures that the lists of a difficulty name, in the order of the lists.

    Raises:
        InvalidValue: for a list without its folder or the reverse, a missing or damaged picture,
            or a line that is none, by name.
    """
    _require_pairs(difficulty)
    lists = sorted(
        (difficulty / LISTS).glob("*.npy"), key=lambda path: (len(path.stem), path.stem)
    )
    entries = [entry for path in lists for entry in _entries(path, difficulty)]
    sizes = [entry.path.stat().st_size if entry.path.is_file() else None for entry in entries]
    missing = [entry.path for entry, size in zip(entries, sizes, strict=True) if size is None]
    if missing or not entries:
        raise InvalidValue(
            f"'{difficulty}' must hold every picture that its lists name but it has "
            f"{len(entries) - len(missing)} of {len(entries)}"
            f"{f', not {missing[0]}' if missing else ''}. Copy the whole release."
        )
    full = [entry for entry, size in zip(entries, sizes, strict=True) if size]
    if not full:
        raise InvalidValue(
            f"A picture with content is needed but all {len(entries)} of '{difficulty}' are "
            "empty. Copy the release again."
        )
    return Labelled(
        np.stack([read_picture(entry.path, mode="L") for entry in full]),
        np.array([entry.label for entry in full], dtype=np.int64),
        tuple(entry.name for entry, size in zip(entries, sizes, strict=True) if not size),
    )


def _require_pairs(difficulty: Path) -> None:
    """Refuse folders without a list and lists without a folder."""
    folders = {path.name for path in (difficulty / PICTURES).iterdir() if path.is_dir()}
    lists = {path.stem for path in (difficulty / LISTS).glob("*.npy")}
    alone = [f"{LISTS}/{name}.npy" for name in sorted(lists - folders)]
    alone += [f"{PICTURES}/{name}" for name in sorted(folders - lists)]
    if alone:
        raise InvalidValue(
            f"Each folder {PICTURES}/K needs a list {LISTS}/K.npy but '{difficulty}' has "
            f"{', '.join(alone)} alone. Copy the whole release."
        )


def _entries(path: Path, difficulty: Path) -> list[_Entry]:
    """The pictures that a list names, with their labels."""
    entries: list[_Entry] = []
    for number, fields in enumerate(_lines(path), 1):
        if len(fields) != _FIELDS or fields[3] not in ("0", "1"):
            raise InvalidValue(
                f"A line has {_FIELDS} fields, the fourth of them 0 or 1, but line {number} of "
                f"'{path}' is '{' '.join(fields)[:80]}'. Correct it, or copy the list again."
            )
        entries.append(_Entry(difficulty / fields[0] / fields[1], int(fields[3])))
    return entries


def _lines(path: Path) -> list[list[str]]:
    """The fields of each line of a list, be it text or an array."""
    content = path.read_bytes()
    try:
        if content.startswith(_MAGIC):
            with path.open("rb") as file:
                array = np.atleast_1d(np.load(file, allow_pickle=False))
            return array.reshape(len(array), -1).astype(str).tolist()
        return [line.split() for line in content.decode().splitlines() if line.strip()]
    except ValueError as error:
        raise InvalidValue(
            f"A list of labels is text or an array of text but '{path}' cannot be read ({error}). "
            "Copy it again."
        ) from None


def write_labelled(
    difficulty: Path,
    part: int,
    pictures: Iterable[tuple[npt.NDArray[np.uint8], int]],
    *,
    parameters: str,
) -> None:
    """A numbered folder of pictures with its list, both in the layout of the release."""
    folder = difficulty / PICTURES / str(part)
    folder.mkdir(parents=True)
    (difficulty / LISTS).mkdir(exist_ok=True)
    lines: list[str] = []
    for number, (levels, label) in enumerate(pictures):
        name = f"sample_{number}.png"
        Image.fromarray(levels).save(folder / name)
        lines.append(f"{PICTURES}/{part} {name} {number} {label} {parameters}\n")
    (difficulty / LISTS / f"{part}.npy").write_text("".join(lines), encoding="utf-8")
