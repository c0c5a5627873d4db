"""Certified sums of a batch: member by member, whole or in causal order."""

__all__ = ["certified_sums", "members"]

import itertools
from collections.abc import Iterator

import torch
from torch import Tensor

from vlasov.engines.certified import certified_whole
from vlasov.engines.pairs import Pairs
from vlasov.engines.tree_halves import by_halves


def certified_sums(tolerance: float, pairs: Pairs, triangular: bool) -> Tensor:
    """Averages and, last, log-sums; if `triangular`, over keys 0 to i for query i."""
    shape = (*pairs.batch, pairs.q.shape[-2], pairs.v.shape[-1] + 1)
    one = by_halves if triangular else certified_whole
    found = [one(tolerance, member) for member in members(pairs)]
    if not found:
        return torch.zeros(shape, dtype=pairs.q.dtype)
    joined = [torch.cat([x.averages, x.logs.unsqueeze(-1)], dim=-1) for x in found]
    return torch.stack(joined).reshape(shape).to(pairs.q.dtype)


def members(pairs: Pairs) -> Iterator[Pairs]:
    """The members of a batch one after the other, in double precision."""
    batch = pairs.batch
    q, k, v = (x.detach().expand(*batch, *x.shape[-2:]) for x in (pairs.q, pairs.k, pairs.v))
    logits = pairs.logits.detach().expand(*batch, pairs.k.shape[-2])
    for index in itertools.product(*map(range, batch)):
        yield Pairs(
            q[index].double(), k[index].double(), v[index].double(), logits[index].double()
        )
