"""Numbers at the door: lists, arrays and tensors become floating tensors, checked once."""

__all__ = ["Numbers", "floating", "require_finite"]

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from vlasov.errors import InvalidValue, NotFinite, ShapeMismatch

Numbers = Tensor | npt.NDArray[Any] | Sequence[Any] | float
"""What a caller may write for a tensor: a tensor, an array, nested lists or one number."""

_KEPT = (torch.float16, torch.bfloat16, torch.float32, torch.float64)


def floating(given: Numbers, *, name: str) -> Tensor:
    """The numbers as a tensor; fp16, bf16, fp32 and fp64 are kept, everything else becomes fp64.

    A tensor keeps its graph, device and memory; an array is copied.

    Raises:
        ShapeMismatch: for lists of unequal lengths.
        InvalidValue: for anything but real numbers.
    """
    tensor = given if isinstance(given, Tensor) else _copied(given, name)
    if tensor.is_complex():
        raise InvalidValue(f"{name} must be real but got {tensor.dtype}. Pass the real part.")
    return tensor if tensor.dtype in _KEPT else tensor.to(torch.float64)


def _copied(given: npt.NDArray[Any] | Sequence[Any] | float, name: str) -> Tensor:
    try:
        array = np.asarray(given)
    except ValueError:
        raise ShapeMismatch(
            f"{name} must be a full array but the lists have unequal lengths. "
            "Make all rows equally long, or build one cloud for each."
        ) from None
    if array.dtype.kind not in "fiub":
        raise InvalidValue(
            f"{name} must be real numbers but got an array of {array.dtype}. "
            "Convert it with `.astype(float)`, or use numbers only."
        )
    kept = isinstance(given, np.ndarray | np.generic) and array.dtype.name in (
        "float16",
        "float32",
    )
    # A copy in native byte order: torch reads neither negative strides nor foreign endianness.
    return torch.from_numpy(np.array(array, dtype=array.dtype.name if kept else "float64"))


def require_finite(x: Tensor, *, name: str) -> None:
    """Refuse NaN and infinity.

    Raises:
        NotFinite: with their number and the index of the first.
    """
    bad = ~torch.isfinite(x)
    if bool(bad.any()):
        first = tuple(int(i) for i in bad.nonzero()[0])
        raise NotFinite(
            f"{name} must be finite but {int(bad.sum())} of {bad.numel()} numbers are NaN or "
            f"infinite, the first at index {first}. Remove or repair them first."
        )
