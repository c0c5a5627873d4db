"""Text: whether a film review is positive, read byte by byte.

Source: Maas et al., Learning word vectors for sentiment analysis, ACL 2011.
"""

__all__ = ["Text"]

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from vlasov.errors import InvalidValue
from vlasov.lra.examples import Examples, stacked_bytes
from vlasov.lra.folders import find_folder
from vlasov.lra.repeats import repeats_note
from vlasov.lra.splits import Splits, held_out
from vlasov.lra.task import Task
from vlasov.lra.text_files import ORIGIN, Texts, read_folders, read_table

_VALIDATION = 0.1  # of train
_TEST = 0.2  # of a table without a test


@dataclass(frozen=True)
class Text(Task):
    """Reviews as bytes; the test stays the test, validation is held out of train.

    Args:
        origin: the rows of a table to keep, by its column ``source`` if it has one.
    """

    name: ClassVar[str] = "text"
    title: ClassVar[str] = "Whether a film review is positive, from its bytes."
    classes: ClassVar[int] = 2
    vocabulary: ClassVar[int] = 257
    length: ClassVar[int] = 1000
    source: ClassVar[str] = "the Large Movie Review Dataset, a folder 'aclImdb' or a CSV table"

    origin: str = ORIGIN

    def load(self, folder: Path, *, length: int, seed: int) -> Splits:
        """The reviews in folders, or in a table, or in two called train.csv and test.csv."""
        notes: list[str] = []
        tables = _tables(folder)
        if not tables:
            place = find_folder(folder, _FOLDERS, task=self.name)
            self._require_usual_origin(place)
            parts = {name: read_folders(place / name) for name in ("train", "test")}
        else:
            parts = {path.stem: read_table(path, origin=self.origin) for path in tables}
        examples = [_cut(name, part, length, notes) for name, part in parts.items()]
        if len(examples) == 1:
            examples = [*held_out(examples[0], _TEST, seed=seed)]
            notes.append(f"test: {_TEST:.0%} of the table, held out with seed {seed}")
        train, validation = held_out(examples[0], _VALIDATION, seed=seed)
        notes.append(f"validation: {_VALIDATION:.0%} of train, held out with seed {seed}")
        notes.extend(repeats_note(train, validation, examples[1]))
        return self.splits(train, validation, examples[1], tuple(notes))

    def _require_usual_origin(self, folder: Path) -> None:
        if self.origin != ORIGIN:
            raise InvalidValue(
                f"'text:origin={self.origin}' chooses rows of a table but '{folder}' holds "
                "folders. Leave 'origin' out, or give the table itself."
            )


_FOLDERS = ("train/neg", "train/pos", "test/neg", "test/pos")


def _tables(folder: Path) -> list[Path]:
    """The table, or the tables of train and test, that a folder holds; a table is its own."""
    if folder.is_file():
        return [folder]
    found = sorted(folder.glob("*.csv"))
    if len(found) < 2:
        return found
    named = [folder / "train.csv", folder / "test.csv"]
    if not set(named) <= set(found):
        raise InvalidValue(
            "Reviews need one table, or two called train.csv and test.csv, but "
            f"'{folder}' has {', '.join(path.name for path in found)}. Give the table itself."
        )
    return named


def _cut(name: str, part: Texts, length: int, notes: list[str]) -> Examples:
    longer = sum(len(text) > length for text in part.texts)
    if longer:
        notes.append(f"{name}: {longer} of {len(part.texts)} texts cut at {length} bytes")
    return stacked_bytes((text[:length] for text in part.texts), part.labels)
