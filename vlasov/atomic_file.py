"""Files that are either the old ones or the new ones, never half of each."""

__all__ = ["replace_file", "strict", "write_json", "write_rows", "write_text"]

import csv
import io
import json
import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import torch

from vlasov.errors import InvalidValue, RunFolderError


def replace_file(path: Path, write: Callable[[Path], None], *, keep: Path | None = None) -> Path:
    """Write a hidden file beside `path`, then put it in the place of `path` in one step.

    A kill at any time leaves the old file, as `path` or, where one is named, as `keep`, and
    maybe the hidden one, which the next write overwrites; a full disk leaves no hidden file.

    Raises:
        RunFolderError: if the disk is full, read-only, or gone.
    """
    hidden = path.with_name(f".{path.name}.tmp")
    try:
        write(hidden)
        with hidden.open("r+b") as file:
            os.fsync(file.fileno())
        if keep is not None and path.exists():
            os.replace(path, keep)
        os.replace(hidden, path)
    except OSError as error:
        with suppress(OSError):
            hidden.unlink(missing_ok=True)
        raise RunFolderError(
            f"Cannot write '{path}': {error.strerror or error}. Free or choose another folder."
        ) from None
    return path


def write_text(path: Path, text: str) -> Path:
    """A text file in UTF-8."""
    return replace_file(path, lambda hidden: _put(hidden, text))


def write_json(path: Path, value: Mapping[str, object]) -> Path:
    """A strict JSON file: numbers that are not finite become strings, see `strict`."""
    return write_text(path, json.dumps(strict(value), indent=2, allow_nan=False) + "\n")


def write_rows(path: Path, header: Sequence[str], rows: Iterable[Sequence[object]]) -> Path:
    """A table as CSV; every number reads back as it was."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return write_text(path, text.getvalue())


def strict(value: object) -> object:
    """The value in strict JSON; NaN and infinities become "NaN", "Infinity", "-Infinity".

    These strings are what Python's ``float`` reads back.

    Raises:
        InvalidValue: for anything without a JSON form.

    Example:
        >>> strict({"w2": float("nan"), "loss": [float("inf"), 1.5]})
        {'w2': 'NaN', 'loss': ['Infinity', 1.5]}
    """
    if isinstance(value, torch.Tensor):
        return strict(value.tolist())
    if isinstance(value, Mapping):
        return {str(key): strict(item) for key, item in value.items()}
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else ("Infinity" if value > 0 else "-Infinity")
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Sequence):
        return [strict(item) for item in value]
    if isinstance(value, Path):
        return str(value)
    raise InvalidValue(
        f"A value of type {type(value).__name__} has no JSON form. Give numbers, text or lists."
    )


def _put(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8", newline="")
