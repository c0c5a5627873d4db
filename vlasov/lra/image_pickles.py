"""Pickled batches of CIFAR-10, opened by a reader that builds arrays and nothing else.

A pickle may name any function to be called. This reader allows the few that build a NumPy array,
so a file from elsewhere cannot run code.
"""

__all__ = ["read_pickle"]

import pickle
from pathlib import Path
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from vlasov.errors import InvalidValue


def read_pickle(path: Path, *, width: int) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]:
    """The rows of `width` bytes and the labels of a batch, pickled by Python 2 or 3.

    Raises:
        InvalidValue: for a damaged file, one that asks for other objects, or other content.
    """
    try:
        with path.open("rb") as file:
            # Text of Python 2 stays bytes: decoding it would fail on the rows of old arrays.
            content = _ArraysOnly(file, encoding="bytes").load()
    except Exception as error:  # damaged pickles raise anything
        raise InvalidValue(
            f"A pickled batch holds plain arrays but '{path}' cannot be read "
            f"({type(error).__name__}: {error}). Copy it again, or use the binary release."
        ) from None
    fields = _by_name(content)
    rows, labels = np.asarray(fields.get("data")), np.asarray(fields.get("labels"))
    fits = labels.ndim == 1 and labels.size > 0 and rows.shape == (labels.size, width)
    if not fits or rows.dtype != np.uint8 or labels.dtype.kind not in "iu":
        raise InvalidValue(
            f"A pickled batch holds 'data' of shape (m, {width}) in uint8 and m 'labels' but "
            f"'{path}' has {_shown(rows)} and {_shown(labels)}. Check that it is CIFAR-10."
        )
    return rows, labels.astype(np.int64)


class _ArraysOnly(pickle.Unpickler):
    """A reader of pickles that builds NumPy arrays and plain Python values."""

    def find_class(self, module_name: str, global_name: str, /) -> Any:  # noqa: ANN401
        """What a pickle asks for, if it is part of an array."""
        module = module_name.replace("numpy.core", "numpy._core")  # its name since NumPy 2
        if (module, global_name) not in _ALLOWED:
            raise pickle.UnpicklingError(f"it asks for {module_name}.{global_name}")
        return super().find_class(module, global_name)


_ALLOWED = {
    ("numpy", "dtype"),
    ("numpy", "ndarray"),
    ("numpy._core.multiarray", "_reconstruct"),
    ("numpy._core.numeric", "_frombuffer"),
    ("_codecs", "encode"),  # how Python 3 writes bytes for Python 2
}


def _by_name(content: object) -> dict[str, Any]:
    """The fields of a batch by name; Python 2 wrote the names as bytes."""
    if not isinstance(content, dict):
        return {}
    fields = cast("dict[object, Any]", content)
    return {k.decode("latin1") if isinstance(k, bytes) else str(k): v for k, v in fields.items()}


def _shown(array: npt.NDArray[Any]) -> str:
    return f"{array.dtype} of shape {array.shape}"
