"""Reviews as files: a folder of each polarity, or a table of texts and labels in CSV."""

__all__ = ["ORIGIN", "Texts", "read_folders", "read_table"]

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from vlasov.errors import InvalidValue

ORIGIN = "imdb"
"""The rows of a table that are kept, unless others are asked for."""

_POLARITIES = ("neg", "pos")  # in the order of their labels
_LABELS = {"0": 0, "1": 1, "neg": 0, "pos": 1, "negative": 0, "positive": 1}


class Texts(NamedTuple):
    """Texts as UTF-8 bytes with their labels."""

    texts: list[bytes]
    labels: list[int]


def read_folders(folder: Path) -> Texts:
    """The reviews in ``neg`` and ``pos`` below a folder, in the order of their names.

    Raises:
        InvalidValue: for a polarity without reviews, or an empty one.
    """
    texts: list[bytes] = []
    labels: list[int] = []
    for label, polarity in enumerate(_POLARITIES):
        paths = sorted((folder / polarity).glob("*.txt"))
        if not paths:
            raise InvalidValue(
                f"Reviews need .txt files but '{folder / polarity}' has none. Complete the copy."
            )
        for path in paths:
            texts.append(_not_empty(path.read_bytes(), f"'{path}'"))
            labels.append(label)
    return Texts(texts, labels)


def read_table(path: Path, *, origin: str) -> Texts:
    """The rows of a table with columns ``text`` and ``label``, 0 or 1, neg or pos.

    Args:
        path: of the table, in UTF-8.
        origin: the rows to keep where there is a column ``source``; all of them for none.

    Raises:
        InvalidValue: for a table without these columns, a wrong label or an empty text.
    """
    texts: list[bytes] = []
    labels: list[int] = []
    for row, where in _rows(path):
        if origin not in ("", ORIGIN) and "source" not in row:
            raise InvalidValue(
                f"Rows of source '{origin}' need a column 'source' but '{path}' has none. Leave "
                "'origin' out."
            )
        if origin and row.get("source", origin) != origin:
            continue
        texts.append(_not_empty((row["text"] or "").encode(), where))
        labels.append(_label(row["label"] or "", where))
    if not texts:
        raise InvalidValue(
            f"A table of reviews needs rows of source '{origin}' but '{path}' has none. Name "
            "another with 'text:origin=NAME', or none with 'text:origin='."
        )
    return Texts(texts, labels)


def _rows(path: Path) -> Iterator[tuple[dict[str, str | None], str]]:
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            reader = csv.DictReader(file)
            if not {"text", "label"} <= set(reader.fieldnames or ()):
                raise InvalidValue(
                    "A table of reviews needs columns 'text' and 'label' but "
                    f"'{path}' has {', '.join(reader.fieldnames or ()) or 'none'}. Rename them."
                )
            for row in reader:
                yield row, f"line {reader.line_num} of '{path}'"
    except (UnicodeDecodeError, csv.Error) as error:
        raise InvalidValue(
            f"A table of reviews must be comma-separated text in UTF-8 but '{path}' is not "
            f"({error}). Export it again."
        ) from None


def _label(cell: str, where: str) -> int:
    if cell.strip().lower() not in _LABELS:
        raise InvalidValue(
            f"A review is labelled {', '.join(_LABELS)} but {where} has '{cell[:40]}'. Correct or "
            "remove the row."
        )
    return _LABELS[cell.strip().lower()]


def _not_empty(text: bytes, where: str) -> bytes:
    if not text:
        raise InvalidValue(f"A text needs a byte but {where} is empty. Complete or remove it.")
    return text
