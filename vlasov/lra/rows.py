"""Lines of a tab-separated file, and the labels in them, each refused by file and line."""

__all__ = ["label_in", "tab_rows"]

import math
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from vlasov.errors import InvalidValue

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class Row(NamedTuple):
    """The cells of a line as bytes, and where it stands."""

    cells: list[bytes]
    where: str


def tab_rows(path: Path, columns: int) -> Iterator[Row]:
    """The lines of a file, ended by LF or CRLF, without any quoting.

    Raises:
        InvalidValue: for a line with another number of columns.
    """
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            text = line.removeprefix(_BYTE_ORDER_MARK) if number == 1 else line
            cells = text.rstrip(b"\r\n").split(b"\t")
            where = f"line {number} of '{path}'"
            if len(cells) != columns:
                raise InvalidValue(
                    f"A line needs {columns} columns set apart by tabs but {where} has "
                    f"{len(cells)}. Correct or remove the line."
                )
            yield Row(cells, where)


def label_in(cell: bytes | str, classes: int, where: str) -> int:
    """A class from 0 on, written as an integer or as a float such as 1.0.

    Raises:
        InvalidValue: for anything else.
    """
    try:
        number = float(cell)
    except ValueError:
        number = math.nan
    if not (number.is_integer() and 0 <= number < classes):
        shown = cell.decode(errors="replace") if isinstance(cell, bytes) else cell
        raise InvalidValue(
            f"A label must be an integer from 0 to {classes - 1} but {where} has '{shown[:40]}'. "
            "Correct or remove the line."
        )
    return int(number)
