"""Frames on disk: one zarr group that grows along the axis `frame` and opens in xarray.

Arrays ``time (frame)``, ``points (frame, batch..., token, coordinate)``, one array for each
observable, ``error (frame)``, and the constant ``log_weights`` and ``positions``. Where only the
last state is kept, points have the axis `kept` of length one and its time is ``point_time``.
"""

__all__ = ["TrajectoryStore"]

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar

import numpy as np
import torch
from torch import Tensor

from vlasov.errors import InvalidValue, RunFolderError, ShapeMismatch
from vlasov.experiments.trajectory_layout import (
    Node,
    chunks,
    dims,
    first_frames,
    grows,
    tiles,
)

_SETTINGS = {"array.write_empty_chunks": True}  # so that a missing chunk is a missing file
Mode = Literal["r", "r+", "a"]

T = TypeVar("T")


@dataclass(frozen=True)
class TrajectoryStore:
    """The frames in one folder.

    Zarr format 2 with consolidated metadata, which is written last: readers see whole frames only.
    """

    path: Path

    def append(self, columns: Mapping[str, Sequence[Tensor]], *, batch: int = 0) -> None:
        """Add frames: for each array one tensor per frame, with `batch` leading batch axes.

        Raises:
            InvalidValue: for a name that cannot be an array.
            ShapeMismatch: for an array whose shape changes from frame to frame.
            RunFolderError: if the disk refuses.
        """
        self._guarded(lambda group: _append(group, columns, batch), mode="a")

    def put(self, name: str, value: Tensor, axes: tuple[str, ...]) -> None:
        """Write an array that does not grow, in place of the one before."""
        data = _numpy(value)

        def write(group: Node) -> None:
            layout = (tiles(data.shape, data.itemsize), axes)
            array = _array(group, name, data.shape, data.dtype, layout)
            array[...] = data

        self._guarded(write, mode="a")

    def truncate(self, frames: int) -> None:
        """Forget all but the first `frames` frames.

        Raises:
            RunFolderError: if there are fewer.
        """

        def cut(group: Node) -> None:
            for name, array in group.arrays():
                if grows(array):
                    if array.shape[0] < frames:
                        raise RunFolderError(
                            f"'{self.path}' holds {array.shape[0]} frames of {name} but the "
                            f"checkpoint counts {frames}. Start the run again with --overwrite."
                        )
                    array.resize((frames, *array.shape[1:]))

        self._guarded(cut, mode="r+")

    def read(self, frames: int | None = None) -> dict[str, Tensor]:
        """All arrays, the growing ones up to `frames`.

        Raises:
            RunFolderError: if a file is missing or damaged.
        """

        def load(group: Node) -> dict[str, Tensor]:
            return {_name(array): self._whole(array, frames) for _, array in group.arrays()}

        return self._guarded(load, mode="r")

    def _whole(self, array: Node, frames: int | None) -> Tensor:
        missing = array.nchunks - array.nchunks_initialized
        if missing:
            raise RunFolderError(
                f"'{self.path / _name(array)}' lacks {missing} of {array.nchunks} chunk files. "
                "Restore them, or run again with --overwrite."
            )
        return torch.from_numpy(first_frames(array, frames) if grows(array) else array[...])

    def _guarded(self, action: Callable[[Node], T], *, mode: Mode) -> T:
        import zarr  # heavy: only where frames are written or read

        try:
            with zarr.config.set(_SETTINGS):
                group = zarr.open_group(
                    self.path,
                    mode=mode,
                    zarr_format=2,
                    use_consolidated=False,
                )
                result = action(group)
                if mode != "r":
                    zarr.consolidate_metadata(self.path, zarr_format=2)
                return result
        except (RunFolderError, InvalidValue, ShapeMismatch):
            raise
        except (OSError, ValueError, KeyError, RuntimeError, TypeError) as error:
            verb = "read" if mode == "r" else "written"
            raise RunFolderError(
                f"The frames in '{self.path}' cannot be {verb} ({type(error).__name__}: {error}). "
                "Check the disk, or run again with --overwrite."
            ) from None


def _append(group: Node, columns: Mapping[str, Sequence[Tensor]], batch: int) -> None:
    for name, frames in columns.items():
        if not frames:
            continue
        _require_one_shape(name, frames)
        data = _numpy(torch.stack(list(frames)))
        if _file(name) not in group:
            layout = (chunks(data.shape, data.itemsize), dims(name, data.ndim, batch))
            _array(group, name, (0, *data.shape[1:]), data.dtype, layout)
        array = group[_file(name)]
        if _name(array) != name:
            raise InvalidValue(
                f"'{_name(array)}' and '{name}' would lie in the same file. Rename one of them."
            )
        if array.shape[1:] != data.shape[1:]:
            raise _changed_shape(name, array.shape[1:], data.shape[1:])
        old = array.shape[0]
        array.resize((old + len(data), *data.shape[1:]))
        array[old:] = data


def _file(name: str) -> str:
    """The name on disk: spec strings hold signs that some file systems refuse."""
    return re.sub(r"[^A-Za-z0-9_-]+", "_", name)


def _name(array: Node) -> str:
    return array.attrs["observable"]


def _require_one_shape(name: str, frames: Sequence[Tensor]) -> None:
    odd = next((x for x in frames if x.shape != frames[0].shape), None)
    if odd is not None:
        raise _changed_shape(name, tuple(frames[0].shape), tuple(odd.shape))


def _changed_shape(name: str, first: tuple[int, ...], found: tuple[int, ...]) -> ShapeMismatch:
    return ShapeMismatch(
        f"'{name}' has shape {first} in one frame and {found} in another, which no array holds. "
        "Observe something of fixed shape."
    )


def _numpy(x: Tensor) -> np.ndarray:
    """The tensor as an array; half precision, of which numpy knows only one kind, as float32."""
    x = x.detach().cpu()
    half = x.dtype in (torch.float16, torch.bfloat16)
    return (x.float() if half else x).numpy()


def _array(
    group: Node,
    name: str,
    shape: tuple[int, ...],
    dtype: np.dtype[Any],
    layout: tuple[tuple[int, ...], tuple[str, ...]],
) -> Node:
    """A new array with its chunks and the names of its axes."""
    return group.create_array(
        _file(name),
        shape=shape,
        dtype=dtype,
        chunks=layout[0],
        compressors=None,  # digits of a chaotic cloud do not compress
        fill_value=np.nan if dtype.kind == "f" else 0,
        attributes={"_ARRAY_DIMENSIONS": list(layout[1]), "observable": name},
        overwrite=True,
    )
