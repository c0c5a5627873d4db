"""From where a run can go on, bit for bit, as a file that the weights-only loader accepts."""

__all__ = ["Checkpoint", "load_checkpoint", "plain", "save_checkpoint"]

import pickle
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from vlasov.atomic_file import replace_file
from vlasov.errors import InvalidValue, RunFolderError


@dataclass(frozen=True, eq=False)
class Checkpoint:
    """The state of a simulation and the number of frames recorded up to it.

    `last` is the time and the points of the last frame, where the run folder keeps no others.
    """

    frames: int
    state: Mapping[str, Any]
    last: tuple[float, Tensor] | None = None


def save_checkpoint(path: Path, checkpoint: Checkpoint) -> Path:
    """Write a checkpoint in place of the one before; the old one survives a kill.

    Raises:
        InvalidValue: for a state that the weights-only loader would refuse.
        RunFolderError: if it cannot be written.
    """
    content = plain(vars(checkpoint))

    def write(hidden: Path) -> None:
        with hidden.open("wb") as file:
            torch.save(content, file)

    return replace_file(path, write)


def load_checkpoint(path: Path) -> Checkpoint:
    """The checkpoint of a file, on the CPU.

    Raises:
        RunFolderError: if the file is missing or damaged.
    """
    try:
        content = torch.load(path, map_location="cpu", weights_only=True)
        return Checkpoint(content["frames"], content["state"], content["last"])
    except (OSError, RuntimeError, EOFError, KeyError, TypeError, pickle.UnpicklingError) as error:
        raise RunFolderError(
            f"'{path}' cannot be read as a checkpoint ({type(error).__name__}). "
            "Start the run again with --overwrite."
        ) from None


def plain(value: object, *, name: str = "state") -> object:
    """The value in tensors, numbers, text and containers only; tensors own no more than they show.

    Raises:
        InvalidValue: naming the entry that is something else.
    """
    if isinstance(value, Tensor):
        return _compact(value.detach())
    if isinstance(value, np.ndarray) and value.dtype.kind in "fiub":
        return torch.from_numpy(value.copy())
    if isinstance(value, np.generic):
        return value.item()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Mapping):
        return {key: plain(item, name=f"{name}.{key}") for key, item in value.items()}
    if isinstance(value, Sequence):
        items = [plain(item, name=name) for item in value]
        return tuple(items) if isinstance(value, tuple) else items
    if isinstance(value, Path):
        return str(value)
    raise InvalidValue(
        f"A checkpoint holds tensors, numbers, text and lists but {name} is a "
        f"{type(value).__name__}. Convert it first."
    )


def _compact(x: Tensor) -> Tensor:
    """A copy where `x` is a view: saving a slice would write its whole storage."""
    return x.clone() if x.untyped_storage().nbytes() > x.nelement() * x.element_size() else x
