"""How frames lie on disk: names of axes and sizes of chunks."""

__all__ = ["Node", "chunks", "dims", "grows", "tiles"]

import re
from typing import Any

import numpy as np

Node = Any
"""A zarr group or array; zarr is imported only where it is used."""

_CHUNK_BYTES = 2**20  # the last chunk is written again while it grows
_LARGEST_CHUNK_BYTES = 2**26


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
