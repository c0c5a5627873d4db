"""Sums under a mask, for engines that can sum over all keys or over keys 0 to i for query i."""

__all__ = ["masked_sums"]

import torch
from torch import Tensor

from vlasov.engines.causal import Prefix, in_causal_order
from vlasov.engines.pairs import Pairs


def masked_sums(prefix: Prefix, pairs: Pairs) -> Tensor:
    """What `prefix` gives for operands without a mask, or in causal order.

    Its columns are averages and, last, logarithms of sums; a query that sees no key has averages 0
    and the logarithm ``-inf``.
    """
    mask = pairs.mask
    if mask is None or not mask.causal:
        return prefix(Pairs(pairs.q, pairs.k, pairs.v, pairs.logits), False)
    bonus = mask.key_bonus()
    logits = pairs.logits if bonus is None else pairs.logits + bonus.to(pairs.logits)
    ordered = Pairs(pairs.q, pairs.k, pairs.v, logits)
    found = in_causal_order(prefix, ordered, mask, unseen=-torch.inf)
    averages, logs = found[..., :-1], found[..., -1:]
    averages = torch.where(logs.isneginf(), 0.0, averages)
    offset = mask.query_offset()
    logs = logs if offset is None else logs - offset.to(logs).unsqueeze(-1)
    return torch.cat([averages, logs], dim=-1)
