"""Clouds on disk.

========================  ======================================================================
suffix                    content
========================  ======================================================================
.npy                      points
.npz, .pt, .safetensors   arrays ``points`` and, if wanted, ``weights`` and ``positions``; a .pt
                          file may hold the points alone
.csv                      one row for each token; columns ``weight`` and ``position`` if wanted,
                          all others are coordinates in their order; without a header all are
========================  ======================================================================
"""

__all__ = ["read", "write"]

import os
from pathlib import Path

import torch
from torch import Tensor

from vlasov.array_files import SUFFIXES, read_arrays, write_arrays
from vlasov.catalogue import nearest
from vlasov.csv_table import read_table, write_table
from vlasov.errors import InvalidValue, RunFolderError, ShapeMismatch

Parts = tuple[Tensor, Tensor | None, Tensor | None]
"""Points, weights, positions."""

_NAMES = ("points", "weights", "positions")
_COLUMNS = {
    "weight": "weights",
    "weights": "weights",
    "position": "positions",
    "positions": "positions",
}


def read(path: Path) -> Parts:
    """The points of a file, with weights and positions where it holds them.

    Raises:
        UnknownName: for a suffix or an array that means nothing here.
        InvalidValue: for a file that cannot be read, or without points.
    """
    _require_suffix(path)
    content = _from_columns(read_table(path)) if path.suffix == ".csv" else read_arrays(path)
    arrays = {"points": content} if isinstance(content, Tensor) else content
    for name in arrays:
        if name not in _NAMES:
            raise nearest(name, _NAMES, kind=f"array in '{path}'")
    if "points" not in arrays:
        raise InvalidValue(
            f"A cloud needs an array 'points' but '{path}' holds {sorted(arrays) or 'none'}. "
            "Save the tokens under that name."
        )
    return arrays["points"], arrays.get("weights"), arrays.get("positions")


def _require_suffix(path: Path) -> None:
    known = (*SUFFIXES, ".csv")
    if path.suffix not in known:
        raise nearest(path.suffix, known, kind="suffix of a cloud file")


def _from_columns(columns: dict[str, Tensor]) -> dict[str, Tensor]:
    named = {_COLUMNS[name.lower()]: x for name, x in columns.items() if name.lower() in _COLUMNS}
    coordinates = [x for name, x in columns.items() if name.lower() not in _COLUMNS]
    return named | ({"points": torch.stack(coordinates, -1)} if coordinates else {})


def write(path: Path, parts: Parts) -> Path:
    """Write points, and weights and positions where they say something, to exactly this path.

    The file is complete or not there: it is written beside the path and then renamed.

    Raises:
        UnknownName: for a suffix that names no format.
        InvalidValue: for weights or positions in a .npy file.
        ShapeMismatch: for a batch of clouds in a .csv file.
        RunFolderError: if the folder cannot be written.
    """
    _require_suffix(path)
    arrays = _told(*parts)
    hidden = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        _write_as(path.suffix, hidden, arrays)
        os.replace(hidden, path)
    except OSError as error:
        raise RunFolderError(
            f"Cannot write '{path}' ({error.strerror}). Choose a folder that can be written."
        ) from None
    finally:
        if hidden.exists():
            hidden.unlink()
    return path


def _told(points: Tensor, weights: Tensor | None, positions: Tensor | None) -> dict[str, Tensor]:
    """What a file must hold: equal weights are those of a cloud without weights."""
    equal = weights is None or bool((weights == weights[..., :1]).all())
    given = {"points": points, "weights": None if equal else weights, "positions": positions}
    return {name: one for name, one in given.items() if one is not None}


def _write_as(suffix: str, path: Path, arrays: dict[str, Tensor]) -> None:
    if suffix == ".csv":
        return write_table(path, _columns(arrays))
    if suffix == ".npy" and len(arrays) > 1:
        raise InvalidValue(
            f"A .npy file holds points alone but the cloud has {' and '.join(list(arrays)[1:])}. "
            "Save it as .npz."
        )
    return write_arrays(path, arrays, suffix=suffix)


def _columns(arrays: dict[str, Tensor]) -> dict[str, Tensor]:
    points = arrays["points"]
    if points.dim() != 2:
        raise ShapeMismatch(
            f"A .csv file holds one cloud (n, d) but the points are {tuple(points.shape)}. "
            "Save a batch as .npz, or its clouds one by one with `member`."
        )
    columns = {f"x{i}": column for i, column in enumerate(points.unbind(-1))}
    return columns | {name: one for name, one in arrays.items() if name != "points"}
