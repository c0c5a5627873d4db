"""Causal sums by a kernel that knows only "the first i keys": sorting, ties, unequal numbers."""

__all__ = ["Prefix", "in_causal_order"]

from collections.abc import Callable

import torch
from torch import Tensor

from vlasov.engines.pairs import Pairs
from vlasov.engines.visibility import Visibility

_FEW = 16
"""Groups of queries that are not worth a triangular call."""
Prefix = Callable[[Pairs, bool], Tensor]
"""A sum ``(pairs, triangular)`` of shape (*batch, nq, c); triangular: query i sees keys 0 to i."""


def in_causal_order(prefix: Prefix, pairs: Pairs, mask: Visibility, *, unseen: float) -> Tensor:
    """The sum over the keys not later than each query, whatever the order of the positions.

    Strictly increasing positions, the same for queries and keys, take one triangular call; others
    take a few, and one for each group of queries that see the same keys where there are few such
    groups. A query before every key gets `unseen`.
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
        ends = torch.searchsorted(keys, queries, right=True).cpu()
        total = _by_end(prefix, ordered, ends, unseen=unseen)
    return total.index_select(-2, rows.argsort())


def _common(positions: Tensor) -> Tensor | None:
    """The positions of all members of the batch, if they are the same."""
    rows = positions.reshape(-1, positions.shape[-1])
    return rows[0] if len(rows) == 1 or bool((rows == rows[0]).all()) else None


def _strict(queries: Tensor, keys: Tensor) -> bool:
    same = queries is keys or torch.equal(queries, keys)
    return same and bool((keys[1:] > keys[:-1]).all())


def _by_end(prefix: Prefix, pairs: Pairs, ends: Tensor, *, unseen: float) -> Tensor:
    """Query i sees the first ``ends[i]`` keys, none fewer than the one before.

    As long as most ends are different, one query of each is taken, all in one triangular call.
    """
    rows, order, found = torch.arange(len(ends)), list[Tensor](), list[Tensor]()
    while len(rows):
        _, counts = torch.unique_consecutive(ends[rows], return_counts=True)
        if len(counts) <= max(int(counts.max()), _FEW):
            break
        leads = torch.zeros(len(rows), dtype=torch.bool)
        leads[counts.cumsum(0) - counts] = True
        leads &= ends[rows] > 0
        order.append(rows[leads])
        found.append(_one_of_each(prefix, pairs, rows[leads], ends[rows[leads]]))
        rows = rows[~leads]
    if len(rows):
        order.append(rows)
        found.append(_by_group(prefix, pairs, rows, ends[rows], unseen=unseen))
    return torch.cat(found, dim=-2).index_select(-2, torch.cat(order).argsort().to(pairs.q.device))


def _one_of_each(prefix: Prefix, pairs: Pairs, rows: Tensor, ends: Tensor) -> Tensor:
    """Queries put where a triangular call sees as many keys; nothing is asked elsewhere."""
    count, device = int(ends[-1]), pairs.q.device
    places = (ends - 1).to(device)
    empty = pairs.q.new_zeros(*pairs.q.shape[:-2], count, pairs.q.shape[-1])
    q = empty.index_copy(-2, places, pairs.q.index_select(-2, rows.to(device)))
    seen = Pairs(q, pairs.k[..., :count, :], pairs.v[..., :count, :], pairs.logits[..., :count])
    return prefix(seen, True).index_select(-2, places)


def _by_group(
    prefix: Prefix, pairs: Pairs, rows: Tensor, ends: Tensor, *, unseen: float
) -> Tensor:
    """One call for the queries that see the same keys."""
    seen, counts = torch.unique_consecutive(ends, return_counts=True)
    queries = pairs.q.index_select(-2, rows.to(pairs.q.device)).split(counts.tolist(), dim=-2)
    groups = zip(queries, seen.tolist(), strict=True)
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
