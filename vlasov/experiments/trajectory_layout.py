"""How frames lie on disk: names of axes, sizes of chunks, and reading some at a time."""

__all__ = ["Node", "chunks", "dims", "first_frames", "grows", "tiles"]

import re
from typing import Any

import numpy as np

Node = Any
"""A zarr group or array; zarr is imported only where it is used."""

_CHUNK_BYTES = 2**20  # the last chunk is written again while it grows
_LARGEST_CHUNK_BYTES = 2**26
_BYTES_AT_ONCE = 2**26


def dims(name: str, ndim: int, batch: int) -> tuple[str, ...]:
    """Names of the axes of an array that grows by frames."""
    axis = re.sub(r"[^A-Za-z0-9_-]+", "_", name)
    axes = ("frame", *(f"batch_{i}" for i in range(batch)))[:ndim]
    if name == "points":
        return (*axes, "token", "coordinate")
    return (*axes, *(f"{axis}_{i}" for i in range(ndim - len(axes))))


def grows(array: Node) -> bool:
    """Whether an array has one entry per frame."""
    return array.attrs["_ARRAY_DIMENSIONS"][:1] == ["frame"]


def chunks(shape: tuple[int, ...], itemsize: int) -> tuple[int, ...]:
    """Whole frames up to a megabyte; a huge frame in tiles."""
    frame = max(1, int(np.prod(shape[1:])) * itemsize)
    return (max(1, min(2**16, _CHUNK_BYTES // frame)), *tiles(shape[1:], itemsize))


def tiles(shape: tuple[int, ...], itemsize: int) -> tuple[int, ...]:
    """Chunks that cut the largest axes until a chunk is small enough."""
    tile = [max(1, size) for size in shape]
    while int(np.prod(tile)) * itemsize > _LARGEST_CHUNK_BYTES:
        widest = int(np.argmax(tile))
        tile[widest] = -(-tile[widest] // 2)
    return tuple(tile)


def first_frames(array: Node, frames: int | None) -> np.ndarray:
    """The first frames of an array that grows (None: all), with little memory beside them."""
    count = array.shape[0] if frames is None else min(frames, array.shape[0])
    data = np.empty((count, *array.shape[1:]), dtype=array.dtype)
    some = max(array.chunks[0], _BYTES_AT_ONCE // max(1, data[:1].nbytes))
    for start in range(0, count, some):
        end = min(start + some, count)
        data[start:end] = array[start:end]
    return data
