"""The tokens of a sequence as a cloud: equal weights of the real ones, none of padding."""

__all__ = ["token_weights"]

import math

import torch
from jaxtyping import Bool
from torch import Tensor

from vlasov._shapes import LogWeights, Points
from vlasov.errors import InvalidValue


def token_weights(x: Points, padding: Bool[Tensor, "*batch n"] | None = None) -> LogWeights:
    """Log weights of the tokens; minus infinity where `padding` is True.

    Raises:
        InvalidValue: for a sequence that is all padding.

    Example:
        >>> token_weights(torch.ones(2, 3), torch.tensor([False, True])).tolist()
        [0.0, -inf]
    """
    wide = torch.promote_types(x.dtype, torch.float32)
    if padding is None:
        return x.new_full(x.shape[:-1], -math.log(x.shape[-2]), dtype=wide)
    if bool(padding.all(-1).any()):
        raise InvalidValue(
            "Every sequence needs one real token but one is all padding; leave it out."
        )
    logits = x.new_zeros(padding.shape, dtype=wide).masked_fill(padding, -torch.inf)
    return logits.log_softmax(-1)
