"""Operands as the compiled pass reads them: members one behind the other, keys in packed tiles."""

__all__ = [
    "WIDEST",
    "Numbers",
    "Operands",
    "blind_rows",
    "hints",
    "lifted",
    "operands",
    "range_of_values",
]

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from vlasov.engines.pairs import Pairs

Numbers = npt.NDArray[np.floating[Any]]

_WIDTHS = (1, 2, 3, 4, 6, 8)
"""Widths that are compiled; others are padded with zeros."""
WIDEST = _WIDTHS[-1]
_TILE = 28_000  # bytes, which stay near the processor


@dataclass(frozen=True)
class Operands:
    """Queries one behind the other; tiles with a row for each coordinate of k, the logits, v."""

    queries: Numbers
    tiles: Numbers
    width: int
    length: int
    """Keys in a tile."""

    @property
    def arguments(self) -> tuple[Numbers, Numbers, tuple[Any, ...]]:
        """As compiled code takes them: zeros tell the width."""
        return self.queries, self.tiles, tuple(np.zeros(self.width, self.queries.dtype))


def operands(pairs: Pairs, *, scale: float) -> Operands:
    """The operands with exponents times `scale`."""
    k, v = _rows(pairs.k, pairs.batch), _rows(pairs.v, pairs.batch)
    logits = _rows(scale * pairs.logits.unsqueeze(-1), pairs.batch)
    q = _members(pairs.q, pairs.batch)
    width = next(w for w in _WIDTHS if w >= max(k.shape[1], v.shape[1]))
    length = _TILE // ((2 * width + 1) * k.itemsize) // 64 * 64
    shape = len(k), -(-k.shape[-1] // length), 2 * width + 1, length
    tiles = torch.zeros(shape, dtype=pairs.q.dtype).numpy()  # on whole lines of memory
    _fill(tiles[:, :, :width], k)
    _fill(tiles[:, :, width : width + 1], logits)
    _fill(tiles[:, :, width + 1 :], v)
    queries = np.zeros((*q.shape[:-1], width), q.dtype)
    np.multiply(q, scale, out=queries[..., : q.shape[-1]])
    return Operands(queries.reshape(-1), tiles.reshape(-1), width, length)


def _members(x: Tensor, batch: torch.Size) -> Numbers:
    """Tokens of each member of a batch, (members, tokens, width)."""
    found = x.detach().numpy()
    if found.shape[:-2] != batch:
        found = np.broadcast_to(found, (*batch, *found.shape[-2:]))
    return found.reshape(batch.numel(), *found.shape[-2:])


def _rows(x: Tensor, batch: torch.Size) -> Numbers:
    """The same with each coordinate in one piece, (members, width, tokens)."""
    return np.ascontiguousarray(_members(x, batch).swapaxes(-1, -2))


def _fill(rows: Numbers, x: Numbers) -> None:
    """Write coordinates (members, width, keys) to rows of tiles, (members, tiles, rows, keys)."""
    members, width, count = x.shape
    length = rows.shape[-1]
    whole = count // length
    inside = x[:, :, : whole * length].reshape(members, width, whole, length)
    rows[:, :whole, :width] = inside.swapaxes(1, 2)
    rows[:, whole:, :width, : count - whole * length] = x[:, None, :, whole * length :]


def hints(pairs: Pairs) -> tuple[Numbers, npt.NDArray[np.integer[Any]]]:
    """For each member the largest norm of a key, and the keys farthest along each axis."""
    k = _rows(pairs.k, pairs.batch)
    longest = np.sqrt(np.square(k).sum(1).max(-1))
    return longest, np.concatenate([k.argmax(-1), k.argmin(-1)], axis=-1)


def lifted(pairs: Pairs, absent: float) -> tuple[Pairs, Tensor]:
    """Constants with logits from their largest, and the largest logit of each member.

    Keys of weight zero get the logit `absent` and values 0.
    """
    pairs = pairs.detach()
    logits, v = pairs.logits.expand(*pairs.batch, pairs.k.shape[-2]), pairs.v
    top = logits.amax(-1, keepdim=True)
    gone = pairs.logits.isneginf()
    if not bool(gone.any()):
        return Pairs(pairs.q, pairs.k, v, logits - top), top
    top = torch.where(top.isneginf(), 0.0, top)
    v = torch.where(gone.unsqueeze(-1), 0.0, v)
    return Pairs(pairs.q, pairs.k, v, torch.where(gone, absent, logits - top)), top


def blind_rows(pairs: Pairs, triangular: bool) -> Tensor | None:
    """The rows (*batch, nq) that see no present key; None where every key is present."""
    absent = pairs.logits.isneginf()
    if not bool(absent.any()):
        return None
    unseen = absent.long().cumprod(-1).bool() if triangular else absent.all(-1, keepdim=True)
    return unseen.expand(*pairs.batch, pairs.q.shape[-2])


def range_of_values(pairs: Pairs) -> float:
    """What values are divided by, so that they stay in range times weights of any size."""
    scale = pairs.value_scale()
    return 1.0 if 2.0**-20 < scale < 2.0**20 else scale
