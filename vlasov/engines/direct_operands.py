"""Operands as the compiled pass reads them: members one behind the other, keys in packed tiles."""

__all__ = ["WIDEST", "Numbers", "Operands", "blind_rows", "operands", "range_of_values"]

import dataclasses
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
_ABSENT = {8: -1e300, 4: -1e38}
"""The exponent of a key that is absent, by the size of a number."""
_TILE = 28_000  # bytes, which stay near the processor


@dataclass(frozen=True)
class Operands:
    """What `direct_layout` writes, for members one behind the other.

    Args:
        queries: of shape (members, nq, width).
        tiles: a row for each coordinate of k, the logits, v: (members, tiles, rows, keys).
        top: the logit of each member that logits are counted from.
        longest: the largest norm of a key of each member.
        scouts: the keys of each member that lie farthest along each axis.
        absent: whether the weight of a key is zero.
    """

    queries: Numbers
    tiles: Numbers
    top: Numbers
    longest: Numbers
    scouts: npt.NDArray[np.integer[Any]]
    absent: bool

    @property
    def arguments(self) -> tuple[Numbers, Numbers, tuple[Any, ...]]:
        """As compiled code takes them: zeros tell the width."""
        nothing = tuple(np.zeros(self.queries.shape[-1], self.queries.dtype))
        return self.queries.reshape(-1), self.tiles.reshape(-1), nothing

    def sizes(self, keys: int, rows: int, triangular: bool) -> tuple[int, int, int, int, int]:
        """The numbers of queries, of keys, of rows in a block, of keys in a tile; the order."""
        return self.queries.shape[1], keys, rows, self.tiles.shape[-1], int(triangular)


def operands(
    pairs: Pairs, *, exponents: float, values: float = 1.0, lifted: bool = True
) -> Operands:
    """The operands with exponents times a number, and values divided by one.

    If `lifted`, logits are counted from the largest one of a member.
    """
    from vlasov.engines import direct_layout  # compiles, and loads numba

    batch = pairs.batch
    q, k, v = (_members(x, batch) for x in (pairs.q, pairs.k, pairs.v))
    logits = _members(pairs.logits.unsqueeze(-1), batch)[..., 0]
    (members, n, d), kind = k.shape, k.dtype
    width = next(w for w in _WIDTHS if w >= max(d, v.shape[-1]))
    length = _TILE // ((2 * width + 1) * k.itemsize) // 64 * 64
    # tiles on whole lines of memory
    tiles = torch.zeros(members, -(-n // length), 2 * width + 1, length, dtype=pairs.k.dtype)
    queries = np.zeros((*q.shape[:-1], width), kind)
    top, longest = np.empty((2, members), kind)
    found = queries, tiles.numpy(), top, longest, np.zeros((members, 2 * d), np.int64)
    factors = exponents, values, lifted, _ABSENT[k.itemsize]
    absent = direct_layout.lay_out((q, k, v, logits), factors, found)
    return Operands(*found, absent=absent)


def _members(x: Tensor, batch: torch.Size) -> Numbers:
    """Tokens of each member of a batch, (members, tokens, width)."""
    found = x.detach().numpy()
    if found.shape[:-2] != batch:
        found = np.broadcast_to(found, (*batch, *found.shape[-2:]))
    return np.ascontiguousarray(found.reshape(batch.numel(), *found.shape[-2:]))


def blind_rows(pairs: Pairs, triangular: bool) -> Tensor:
    """The rows (*batch, nq) that see no present key."""
    absent = pairs.logits.isneginf()
    unseen = absent.long().cumprod(-1).bool() if triangular else absent.all(-1, keepdim=True)
    return unseen.expand(*pairs.batch, pairs.q.shape[-2])


def range_of_values(pairs: Pairs) -> float:
    """What values of present keys are divided by, to stay in range times weights of any size."""
    absent = pairs.logits.isneginf()
    if bool(absent.any()):
        pairs = dataclasses.replace(pairs, v=pairs.v.where(~absent.unsqueeze(-1), 0.0))
    scale = pairs.value_scale()
    return 1.0 if 2.0**-20 < scale < 2.0**20 else scale
