"""Which examples make a step: batches of like lengths, in an order fixed by seed and epoch.

Nothing here keeps a generator: the order is a function, the same on every process and after a
resume.
"""

__all__ = ["Shares", "epoch_batches", "number", "whole_batches"]

import hashlib
from collections.abc import Iterator

import torch
from jaxtyping import Int
from torch import Tensor

from vlasov.lra.examples import Batch, Examples

_POOL = 16
"""Batches that are sorted by length together: more waste less padding and mix less."""

Rows = Int[Tensor, " rows"]


def epoch_batches(examples: Examples, batch: int, *, seed: int, epoch: int) -> list[Rows]:
    """All examples once, in batches of neighbours in length, the last one perhaps smaller.

    The examples are shuffled, cut into pools, each pool is sorted by length and cut into batches,
    and the batches are shuffled.
    """
    generator = torch.Generator().manual_seed(number("order", seed, epoch))
    lengths = examples.lengths.amax(-1)
    order = torch.randperm(len(examples), generator=generator)
    pools = order.split(batch * _POOL)
    batches = [
        rows for pool in pools for rows in pool[lengths[pool].argsort(stable=True)].split(batch)
    ]
    mixed = torch.randperm(len(batches), generator=generator).tolist()
    return [batches[i] for i in mixed]


def whole_batches(examples: Examples, batch: int) -> list[Rows]:
    """All examples once by length, for an evaluation, where the order has no meaning."""
    return list(examples.lengths.amax(-1).argsort(stable=True).split(batch))


class Shares:
    """The part of each batch that one of several processes takes, cut into parts of a sum.

    A process whose share is empty gets no part; it takes part in the sums over processes.
    """

    def __init__(self, rank: int, world: int, *, parts: int = 1) -> None:
        self.rank = rank
        self.world = world
        self.parts = parts

    def __call__(self, examples: Examples, rows: Rows) -> Iterator[Batch]:
        """The padded batches of this process for one step."""
        own = rows[self.rank :: self.world]
        for part in own.tensor_split(self.parts):
            if len(part):
                yield examples.batch(part)


def number(purpose: str, *keys: int) -> int:
    """A seed for one purpose and place in a run: independent draws at independent places."""
    text = ":".join([purpose, *map(str, keys)])
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=7).digest(), "big")
