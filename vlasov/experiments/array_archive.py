"""Named arrays in one ``.npz`` file, written whole or not at all."""

__all__ = ["read_archive", "write_archive"]

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from vlasov.atomic_file import replace_file


def write_archive(path: Path, tensors: Mapping[str, Tensor]) -> Path:
    """Write the tensors; the path is returned."""
    arrays: dict[str, Any] = {name: x.detach().cpu().numpy() for name, x in tensors.items()}

    def write(hidden: Path) -> None:
        with hidden.open("wb") as file:
            np.savez_compressed(file, **arrays)

    return replace_file(path, write)


def read_archive(path: Path) -> dict[str, Tensor]:
    """The tensors, on the CPU."""
    with np.load(path, allow_pickle=False) as content:
        return {name: torch.from_numpy(content[name]) for name in content.files}
