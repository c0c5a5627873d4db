"""Tables of numbers in .csv: named columns, or numbers alone."""

__all__ = ["read_table", "write_table"]

import csv
import math
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor

from vlasov.array_files import require_file
from vlasov.errors import InvalidValue, NotFinite, ShapeMismatch


class _Row(NamedTuple):
    where: str
    cells: list[str]


def read_table(path: Path) -> dict[str, Tensor]:
    """The columns of a table by name; without a header they are called ``x0``, ``x1`` and so on.

    Raises:
        InvalidValue: for a missing or empty table, or a cell or column name that cannot be read.
        NotFinite: for a cell that is NaN or infinite.
        ShapeMismatch: for rows of unequal lengths.
    """
    require_file(path)
    rows = _rows(path)
    names = _header(rows[0]) if rows else None
    body = rows if names is None else rows[1:]
    if not body:
        raise InvalidValue(f"A table needs one row of numbers but '{path}' has none. Add them.")
    width = len(body[0].cells if names is None else names)
    numbers = torch.tensor([_numbers(row, width) for row in body], dtype=torch.float64)
    return dict(zip(names or [f"x{i}" for i in range(width)], numbers.unbind(-1), strict=True))


def _rows(path: Path) -> list[_Row]:
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            reader = csv.reader(file)
            return [_Row(f"line {reader.line_num} of '{path}'", row) for row in reader if row]
    except (UnicodeDecodeError, csv.Error) as error:
        raise InvalidValue(
            f"A table must be comma-separated text in UTF-8 but '{path}' is not ({error}). "
            "Export it again as CSV."
        ) from None


def _header(row: _Row) -> list[str] | None:
    """The names of the columns, if the first row names them."""
    names = [cell.strip() for cell in row.cells]
    if all(_is_number(name) for name in names):
        return None
    if any(_is_number(name) or not name for name in names) or len(set(names)) < len(names):
        raise InvalidValue(
            f"A first row holds numbers only, or names that are all there and all different, but "
            f"{row.where} is {row.cells}. Name every column (pandas: `index=False`)."
        )
    return names


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _numbers(row: _Row, width: int) -> list[float]:
    if len(row.cells) != width:
        raise ShapeMismatch(
            f"Rows must have {width} cells but {row.where} has {len(row.cells)}. "
            "Fill or remove that row."
        )
    wrong = next((cell for cell in row.cells if not _is_number(cell)), None)
    if wrong is not None:
        raise InvalidValue(
            f"Cells must be numbers but {row.where} holds '{wrong}'. Write numbers with a point, "
            "and commas between them."
        )
    numbers = [float(cell) for cell in row.cells]
    if not all(math.isfinite(number) for number in numbers):
        raise NotFinite(
            f"Numbers must be finite but {row.where} is {numbers}. Repair or remove that row."
        )
    return numbers


def write_table(path: Path, columns: Mapping[str, Tensor]) -> None:
    """Write named columns to exactly `path`; every number reads back as it was."""
    numbers = torch.stack([column.detach().cpu().double() for column in columns.values()], -1)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(numbers.tolist())
