"""From where a training can go on, bit for bit: the last state, the one before, and the best.

Every file loads with the weights-only loader of torch.
"""

__all__ = ["BEST", "LAST", "OLDER", "has_checkpoint", "load_last", "save_best", "save_last"]

import io
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from vlasov.atomic_file import replace_file
from vlasov.errors import RunFolderError

LAST = "last.pt"
OLDER = "last.older.pt"
BEST = "best.pt"

Identity = Mapping[str, Any]


def has_checkpoint(folder: Path) -> bool:
    """Whether a training has begun in this folder."""
    return any((folder / name).exists() for name in (LAST, OLDER))


def save_last(folder: Path, identity: Identity, content: Mapping[str, Any]) -> None:
    """Write the last state; the one before is kept."""
    _save(folder / LAST, {"identity": dict(identity), **content}, keep=folder / OLDER)


def save_best(folder: Path, identity: Identity, content: Mapping[str, Any]) -> None:
    """Write the best weights."""
    _save(folder / BEST, {"identity": dict(identity), **content})


def load_last(folder: Path, identity: Identity) -> dict[str, Any]:
    """The last state that can be read, of a training with this identity.

    Raises:
        RunFolderError: if none can be read, or the folder belongs to another training.
    """
    loaded = (_load(folder / name) for name in (LAST, OLDER))
    content = next((found for found in loaded if found is not None), None)
    if content is None:
        raise RunFolderError(
            f"Resuming needs one whole checkpoint but '{folder}' has none that can be read. "
            "Start again in another folder."
        )
    _require_same(folder, content["identity"], identity)
    return content


def _save(path: Path, content: Mapping[str, Any], *, keep: Path | None = None) -> None:
    # into memory first: torch turns a full disk into an error of its own
    buffer = io.BytesIO()
    torch.save(content, buffer)
    replace_file(path, lambda hidden: _write(hidden, buffer), keep=keep)


def _write(path: Path, buffer: io.BytesIO) -> None:
    path.write_bytes(buffer.getbuffer())


def _load(path: Path) -> dict[str, Any] | None:
    """The content of a whole file; None for a missing or damaged one."""
    try:
        with zipfile.ZipFile(path) as archive:
            if archive.testzip() is not None:  # torch itself does not compare check sums
                return None
        return torch.load(path, map_location="cpu", weights_only=True)
    except (OSError, RuntimeError, EOFError, zipfile.BadZipFile):
        return None


def _require_same(folder: Path, found: Identity, wanted: Identity) -> None:
    for name, value in wanted.items():
        if found.get(name) != value:
            raise RunFolderError(
                f"Resuming needs the settings of the first start but {name} is {value!r} and was "
                f"{found.get(name)!r} in '{folder}'. Use the same, or another folder."
            )
