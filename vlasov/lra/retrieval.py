"""Retrieval: whether one paper cites another, two texts read byte by byte and apart.

The texts of the release are Python bytes literals, and the published pipeline reads the literal
itself, prefix and escapes included; so does this one unless asked to decode it.

Source: Radev et al., The ACL Anthology Network corpus, 2013.
"""

__all__ = ["Retrieval"]

import ast
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from vlasov.errors import InvalidValue
from vlasov.lra.examples import Examples, stacked_bytes
from vlasov.lra.folders import find_folder
from vlasov.lra.repeats import repeats_note
from vlasov.lra.rows import label_in, tab_rows
from vlasov.lra.splits import Splits
from vlasov.lra.task import Task

_FILES = tuple(f"new_aan_pairs.{part}.tsv" for part in ("train", "eval", "test"))
_COLUMNS = 5  # label, two names, two texts
_MOST = 10_000  # bytes of a text that are looked at, whatever the length


@dataclass(frozen=True)
class Retrieval(Task):
    """Pairs of papers.

    Args:
        decode: read the text that a bytes literal stands for, rather than the literal.
    """

    name: ClassVar[str] = "retrieval"
    title: ClassVar[str] = "Whether one paper cites another, from the bytes of both."
    classes: ClassVar[int] = 2
    vocabulary: ClassVar[int] = 257
    length: ClassVar[int] = 4000
    towers: ClassVar[int] = 2
    source: ClassVar[str] = "'tsv_data' of the Long Range Arena release"

    decode: bool = False

    def load(self, folder: Path, *, length: int, seed: int) -> Splits:
        """The pairs in the three files of the release."""
        place = find_folder(folder, _FILES, task=self.name)
        notes: list[str] = []
        train, validation, test = (self._read(place / name, length, notes) for name in _FILES)
        notes.extend(repeats_note(train, validation, test))
        return self.splits(train, validation, test, tuple(notes))

    def _read(self, path: Path, length: int, notes: list[str]) -> Examples:
        """The pairs of one file; how many texts were cut joins the notes."""
        most, longer = min(length, _MOST), 0
        texts: list[bytes] = []
        labels: list[int] = []
        for row in tab_rows(path, _COLUMNS):
            labels.append(label_in(row.cells[0], self.classes, row.where))
            for cell in row.cells[3:]:
                text = self._text(cell, row.where)
                longer += len(text) > most
                texts.append(text[:most])
        if not labels:
            raise InvalidValue(f"A file of pairs needs a pair but '{path}' has none. Complete it.")
        if longer:
            notes.append(f"{path.name}: {longer} of {len(texts)} texts cut at {most} bytes")
        return stacked_bytes(texts, labels, towers=2)

    def _text(self, cell: bytes, where: str) -> bytes:
        text = _decoded(cell, where) if self.decode else cell
        if not text:
            raise InvalidValue(
                f"A text needs a byte but {where} has an empty one. Correct or remove the line."
            )
        return text


def _decoded(cell: bytes, where: str) -> bytes:
    """The bytes that a literal stands for."""
    try:
        found = ast.literal_eval(cell.decode())
    except (ValueError, SyntaxError):  # UnicodeDecodeError is a ValueError
        found = None
    if not isinstance(found, bytes):
        raise InvalidValue(
            f"Decoding needs texts as bytes literals such as b'...' but {where} has "
            f"{cell[:20]!r}. Read it as it is, with 'retrieval:decode=false'."
        )
    return found
