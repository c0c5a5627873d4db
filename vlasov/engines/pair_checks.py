"""Whether operands make a sum, seen at a glance where they do."""

__all__ = ["require_finite", "require_fitting", "require_pairs"]

import math

import torch
from torch import Tensor

from vlasov.engines.input_checks import KEYS, LOGITS, QUERIES, VALUES, require_operands
from vlasov.engines.pairs import Pairs
from vlasov.engines.visibility import Visibility
from vlasov.errors import NotFinite

_FULL = (torch.float64, torch.float32)


def require_pairs(engine: str, pairs: Pairs) -> Pairs:
    """The operands as they are summed, half precision in float32.

    Raises:
        InvalidValue, ShapeMismatch, NotFinite: as the two functions below.
    """
    require_fitting(engine, pairs)
    pairs = pairs.working()
    require_finite(engine, pairs)
    return pairs


def require_fitting(engine: str, pairs: Pairs) -> None:
    """Refuse formats, devices and shapes that make no sum.

    Raises:
        InvalidValue, ShapeMismatch: as `require_operands`.
    """
    if not _plain(pairs):
        tokens = {QUERIES: pairs.q, KEYS: pairs.k}
        values = {} if pairs.v is pairs.k else {VALUES: pairs.v}
        require_operands(engine, tokens | values | {LOGITS: pairs.logits}, pairs.mask)


def require_finite(engine: str, pairs: Pairs) -> None:
    """Refuse numbers that have no sum.

    Raises:
        NotFinite: for NaN or infinity; a key logit may be ``-inf``.
    """
    if _small(pairs):
        return
    tokens = {QUERIES: pairs.q, KEYS: pairs.k, VALUES: pairs.v}
    broken = [name for name, x in tokens.items() if not bool(x.isfinite().all())]
    broken += [] if bool((pairs.logits < math.inf).all()) else [LOGITS]
    if broken:
        raise NotFinite(
            f"Engine '{engine}' needs finite tokens but found NaN or infinity among the "
            f"{broken[0]}; repair them (a key logit may be -inf)."
        )


def _plain(pairs: Pairs) -> bool:
    """Whether there is one format, device and batch: then the rest is quickly seen."""
    q, k, v, logits = pairs.q, pairs.k, pairs.v, pairs.logits
    kind, tokens = k.dtype, k.shape[:-1]
    return (
        kind in _FULL and q.dtype is kind and v.dtype is kind and logits.dtype is kind
        and q.is_cpu and k.is_cpu and v.is_cpu and logits.is_cpu
        and _each(logits, tokens) and v.shape[:-1] == tokens and q.ndim == k.ndim > 1
        and q.shape[:-2] == tokens[:-1] and q.shape[-1] == k.shape[-1]
        and q.numel() > 0 and k.numel() > 0 and v.numel() > 0
        and (pairs.mask is None or _plain_mask(pairs.mask, q.shape[:-1], tokens))
    )  # fmt: skip


def _plain_mask(mask: Visibility, queries: torch.Size, keys: torch.Size) -> bool:
    """Whether it has but positions, one for each token."""
    mine, others = mask.query_positions, mask.key_positions
    return (
        mask.matrix is None and mask.slope is None and mine.is_cpu and others.is_cpu
        and _each(mine, queries) and _each(others, keys)
    )  # fmt: skip


def _each(x: Tensor, tokens: torch.Size) -> bool:
    """Whether there is a number for each token, or for all heads together."""
    shape = x.shape
    return shape == tokens or (len(tokens) > 1 and shape == (*tokens[:-2], 1, tokens[-1]))


def _small(pairs: Pairs) -> bool:
    """Whether sums show that all numbers are finite; those of large finite ones do not."""
    # The longest key is asked for again where keys are centred.
    keys = pairs.k if pairs.mask is not None else pairs.longest_key
    return (
        math.isfinite(pairs.q.sum().item())
        and math.isfinite((keys if keys.numel() == 1 else keys.sum()).item())
        and (pairs.v is pairs.k or math.isfinite(pairs.v.sum().item()))
        and pairs.logits.sum().item() < math.inf
    )
