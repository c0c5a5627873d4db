"""Causal sums by a kernel that knows only "the first i keys": sorting, ties, unequal numbers."""

__all__ = ["Prefix", "in_causal_order"]

from collections.abc import Callable

import torch
from torch import Tensor

from vlasov.engines.pairs import Pairs
from vlasov.engines.visibility import Visibility

Prefix = Callable[[Pairs, bool], Tensor]
"""A sum ``(pairs, triangular)`` of shape (*batch, nq, c); triangular: query i sees keys 0 to i."""


def in_causal_order(prefix: Prefix, pairs: Pairs, mask: Visibility, *, unseen: float) -> Tensor:
    """The sum over the keys not later than each query, whatever the order of the positions.

    Strictly increasing positions, the same for queries and keys, take one triangular call; else
    one call for each group of equal query positions. A query before every key gets `unseen`.
    """
    queries, keys = _common(mask.query_positions), _common(mask.key_positions)
    if queries is None or keys is None:
        return _by_member(prefix, pairs, mask, unseen=unseen)
    if _strict(queries, keys):
        return prefix(pairs, True)
    queries, rows = queries.sort(stable=True)
    keys, columns = keys.sort(stable=True)
    ordered = Pairs(
        pairs.q.index_select(-2, rows),
        pairs.k.index_select(-2, columns),
        pairs.v.index_select(-2, columns),
        pairs.logits.index_select(-1, columns),
    )
    if _strict(queries, keys):
        total = prefix(ordered, True)
    else:
        total = _by_group(prefix, ordered, queries, keys, unseen=unseen)
    return total.index_select(-2, rows.argsort())


def _common(positions: Tensor) -> Tensor | None:
    """The positions of all members of the batch, if they are the same."""
    rows = positions.reshape(-1, positions.shape[-1])
    return rows[0] if len(rows) == 1 or bool((rows == rows[0]).all()) else None


def _strict(queries: Tensor, keys: Tensor) -> bool:
    same = queries is keys or torch.equal(queries, keys)
    return same and bool((keys[1:] > keys[:-1]).all())


def _by_group(
    prefix: Prefix, pairs: Pairs, queries: Tensor, keys: Tensor, *, unseen: float
) -> Tensor:
    positions, counts = torch.unique_consecutive(queries, return_counts=True)
    ends = torch.searchsorted(keys, positions, right=True).tolist()
    groups = zip(pairs.q.split(counts.tolist(), dim=-2), ends, strict=True)
    return torch.cat([_group(prefix, pairs, q, end, unseen=unseen) for q, end in groups], dim=-2)


def _group(prefix: Prefix, pairs: Pairs, q: Tensor, end: int, *, unseen: float) -> Tensor:
    seen = max(end, 1)
    total = prefix(
        Pairs(q, pairs.k[..., :seen, :], pairs.v[..., :seen, :], pairs.logits[..., :seen]), False
    )
    if end == 0:
        return total.masked_fill(torch.ones_like(total, dtype=torch.bool), unseen)
    return total


def _by_member(prefix: Prefix, pairs: Pairs, mask: Visibility, *, unseen: float) -> Tensor:
    """One member and head at a time, where the positions differ in the batch."""
    batch = pairs.batch

    def members(x: Tensor, axes: int) -> Tensor:
        return x.expand(*batch, *x.shape[-axes:]).flatten(0, len(batch) - 1)

    q, k, v = (members(x, 2) for x in (pairs.q, pairs.k, pairs.v))
    logits = members(pairs.logits, 1)
    queries, keys = members(mask.query_positions, 1), members(mask.key_positions, 1)
    sums = [
        in_causal_order(
            prefix,
            Pairs(q[i], k[i], v[i], logits[i]),
            Visibility(queries[i], keys[i], causal=True),
            unseen=unseen,
        )
        for i in range(len(q))
    ]
    return torch.stack(sums).unflatten(0, batch)
