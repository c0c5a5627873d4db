"""Arrays on disk without pickled objects: .npy, .npz, .pt (weights only) and .safetensors."""

__all__ = ["SUFFIXES", "Content", "read_arrays", "require_file", "write_arrays"]

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from vlasov._numbers import Numbers, floating
from vlasov.catalogue import nearest
from vlasov.errors import InvalidValue, MissingExtra

Content = Tensor | dict[str, Tensor]
"""The one array of a file, or its arrays by name."""


def read_arrays(path: Path) -> Content:
    """The one array of a file or its arrays by name, on the CPU; the suffix names the format.

    Raises:
        UnknownName: for a suffix that names no format.
        InvalidValue: for a file that is missing, empty, damaged or holds anything but numbers.
        MissingExtra: for .safetensors without that package.
    """
    if path.suffix not in SUFFIXES:
        raise nearest(path.suffix, SUFFIXES, kind="suffix of a file with arrays")
    require_file(path)
    try:
        content = _READERS[path.suffix](path)
    except MissingExtra:
        raise
    except Exception as error:  # damaged bytes raise anything in the readers
        raise InvalidValue(
            f"'{path}' cannot be read as {path.suffix} ({type(error).__name__}): it is damaged or "
            "holds Python objects, such as lists of unequal lengths. Save plain arrays of numbers."
        ) from error
    if isinstance(content, dict):
        return {name: floating(one, name=f"'{name}'") for name, one in content.items()}
    return floating(content, name=f"The array of '{path.name}'")


def require_file(path: Path) -> None:
    """Refuse a path that leads to no file, or to one without content.

    Raises:
        InvalidValue: with what is there instead.
    """
    if not path.is_file() or path.stat().st_size == 0:
        found = (
            "is empty" if path.is_file() else "is a folder" if path.is_dir() else "does not exist"
        )
        raise InvalidValue(f"A file with numbers is needed but '{path}' {found}. Check the path.")


def _read_numpy(path: Path) -> npt.NDArray[Any] | dict[str, npt.NDArray[Any]]:
    # Opened here: numpy leaves the file of a damaged archive open.
    with path.open("rb") as file:
        loaded = np.load(file, allow_pickle=False)
        return loaded if isinstance(loaded, np.ndarray) else dict(loaded)


def _read_pt(path: Path) -> Numbers | dict[str, Numbers]:
    return torch.load(path, map_location="cpu", weights_only=True)


def _read_safetensors(path: Path) -> dict[str, Tensor]:
    try:
        from safetensors.torch import load_file
    except ImportError:
        raise _missing_safetensors() from None
    return load_file(path)


_READERS = {
    ".npy": _read_numpy,
    ".npz": _read_numpy,
    ".pt": _read_pt,
    ".safetensors": _read_safetensors,
}
SUFFIXES = tuple(_READERS)


def _missing_safetensors() -> MissingExtra:
    return MissingExtra(
        "Files in .safetensors need the package safetensors, which is not installed. "
        "Run `pip install 'vlasov[pretrained]'`."
    )


def write_arrays(path: Path, arrays: Mapping[str, Tensor], *, suffix: str) -> None:
    """Write arrays by name to exactly `path`, whatever it is called, in the format of `suffix`.

    A .npy file takes one array. NumPy has no bf16: its formats hold such arrays in fp32.

    Raises:
        MissingExtra: for .safetensors without that package.
    """
    # Views are copied: torch would write all that lies behind them, safetensors would refuse.
    plain = {k: x.detach().cpu().clone(memory_format=_COMPACT) for k, x in arrays.items()}
    with path.open("wb") as file:
        if suffix == ".safetensors":
            file.write(_safetensors_bytes(plain))
        elif suffix == ".pt":
            torch.save(plain, file)
        elif suffix == ".npz":
            np.savez(file, allow_pickle=False, **{k: _numpy(x) for k, x in plain.items()})
        else:
            (only,) = plain.values()
            np.save(file, _numpy(only), allow_pickle=False)


_COMPACT = torch.contiguous_format


def _numpy(x: Tensor) -> npt.NDArray[Any]:
    return (x.float() if x.dtype == torch.bfloat16 else x).numpy()


def _safetensors_bytes(arrays: dict[str, Tensor]) -> bytes:
    try:
        from safetensors.torch import save
    except ImportError:
        raise _missing_safetensors() from None
    return save(arrays)
