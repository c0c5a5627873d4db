"""A GGUF file: its settings, and its tensors, made float32 one at a time when they are asked for.

Source: the GGUF specification of ggml, version 3; block formats are those of the package `gguf`.
"""

__all__ = ["GgufFile", "locate_gguf"]

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from vlasov.errors import InvalidValue, NotFinite, UnknownName, Unsupported
from vlasov.pretrained.checkpoint import extra, package_files

_SUFFIX = ".gguf"


@dataclass(frozen=True, eq=False)
class GgufFile:
    """Settings by key, and the tensors still in the blocks of the file."""

    settings: Mapping[str, Any]
    blocks: Mapping[str, Any]

    @classmethod
    def open(cls, path: Path) -> "GgufFile":
        """Read the header; tensors stay on disk.

        Raises:
            MissingExtra: if gguf is not installed.
            InvalidValue: if the file is damaged or of another format.
        """
        library = extra("gguf")
        try:
            reader = library.GGUFReader(str(path))
            settings = {key: field.contents() for key, field in reader.fields.items()}
        # a cut file ends the package's parser in any of these
        except (ValueError, IndexError, KeyError, OverflowError) as error:
            raise InvalidValue(
                f"'{path}' cannot be read as GGUF ({error}). Copy the file again."
            ) from None
        _require_whole(reader.tensors, reader.alignment, path)
        return cls(settings, {block.name: block for block in reader.tensors})

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The shape of every tensor, rows first: the file counts axes from the last one."""
        return {
            name: tuple(int(size) for size in reversed(block.shape))
            for name, block in self.blocks.items()
        }

    def tensor(self, name: str) -> Tensor:
        """One tensor in float32, as a matrix that acts on columns: (out, in).

        Raises:
            NotFinite: if it holds NaN or infinity.
            Unsupported: for a format such as whole numbers.
        """
        block = self.blocks[name]
        try:
            plain = extra("gguf").dequantize(block.data, block.tensor_type)
        except NotImplementedError:  # whole numbers, double precision
            raise Unsupported(
                f"Weights in float32, half precision or blocks can be read but '{name}' is "
                f"{block.tensor_type.name}. Convert the file, for example to F16."
            ) from None
        weights = torch.from_numpy(np.array(plain, dtype=np.float32)).reshape(self.shapes[name])
        if not bool(weights.isfinite().all()):
            raise NotFinite(f"'{name}' holds NaN or infinity. Copy the file again.")
        return weights


def _require_whole(blocks: Sequence[Any], alignment: int, path: Path) -> None:
    """Refuse blocks with a gap or an overlap: a format or a size in the header is wrong.

    Each begins at the first multiple of the alignment behind the one before.
    """
    ordered = sorted(blocks, key=lambda block: block.data_offset)
    for block, after in itertools.pairwise(ordered):
        end = int(block.data_offset + block.n_bytes)
        begin = math.ceil(end / alignment) * alignment
        if begin != after.data_offset:
            raise InvalidValue(
                f"'{path}' says that '{block.name}' is {block.tensor_type.name} and ends at byte "
                f"{end}, but '{after.name}' behind it begins at byte {after.data_offset}. Copy "
                "the file again."
            )


def locate_gguf(name_or_path: str | Path) -> Path | None:
    """The GGUF file of that name: itself, the only one of a folder, or of an installed package.

    None where a folder or package holds none, or there is nothing of that name.

    Raises:
        UnknownName: if there are several to choose from.
    """
    name = str(name_or_path)
    path = Path(name).expanduser()
    if path.is_file():
        return path if path.suffix == _SUFFIX else None
    inside = sorted(path.glob(f"*{_SUFFIX}")) if name and path.is_dir() else []
    if not path.is_dir():
        shipped = package_files(name) or []
        inside = [Path(str(one.locate())) for one in shipped if one.suffix == _SUFFIX]
    if len(inside) > 1:
        raise UnknownName(
            f"One GGUF file is wanted but '{name}' holds {len(inside)}: "
            f"{', '.join(one.name for one in inside[:6])}. Give the path of one of them."
        )
    return inside[0] if inside else None
