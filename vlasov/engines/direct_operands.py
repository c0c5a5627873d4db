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
from torch.nn import functional

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
    width = next(w for w in _WIDTHS if w >= max(pairs.k.shape[-1], pairs.v.shape[-1]))
    keys = _TILE // ((2 * width + 1) * pairs.q.itemsize) // 64 * 64
    k, v = _members(pairs.k, pairs.batch, width), _members(pairs.v, pairs.batch, width)
    logits = _members(scale * pairs.logits.unsqueeze(-1), pairs.batch, 1)
    rows = functional.pad(torch.cat([k, logits, v], dim=-1), (0, 0, 0, -k.shape[-2] % keys))
    tiles = rows.unflatten(-2, (-1, keys)).mT.reshape(-1).contiguous()
    q = _members(scale * pairs.q, pairs.batch, width).reshape(-1).contiguous()
    return Operands(q.numpy(), tiles.numpy(), width, keys)


def _members(x: Tensor, batch: torch.Size, width: int) -> Tensor:
    x = functional.pad(x, (0, width - x.shape[-1]))
    return x.expand(*batch, *x.shape[-2:]).reshape(-1, *x.shape[-2:])


def lifted(pairs: Pairs, absent: float) -> tuple[Pairs, Tensor]:
    """Constants with logits from their largest, and the largest logit of each member.

    Keys of weight zero get the logit `absent` and values 0.
    """
    pairs = pairs.detach()
    logits = pairs.logits.expand(*pairs.batch, pairs.k.shape[-2])
    gone = logits.isneginf()
    top = logits.amax(-1, keepdim=True)
    top = torch.where(top.isneginf(), 0.0, top)
    v = torch.where(gone.unsqueeze(-1), 0.0, pairs.v) if bool(gone.any()) else pairs.v
    return Pairs(pairs.q, pairs.k, v, torch.where(gone, absent, logits - top)), top.reshape(-1, 1)


def hints(pairs: Pairs) -> tuple[Numbers, npt.NDArray[np.integer[Any]]]:
    """For each member the largest norm of a key, and the keys farthest along each axis."""
    k, batch = pairs.k, pairs.batch
    longest = torch.linalg.vector_norm(k, dim=-1).amax(-1).expand(batch).reshape(-1)
    scouts = torch.cat([k.argmax(-2), k.argmin(-2)], dim=-1)
    scouts = scouts.expand(*batch, scouts.shape[-1]).reshape(-1, scouts.shape[-1])
    return longest.contiguous().numpy(), scouts.contiguous().numpy()


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
