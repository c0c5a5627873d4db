"""Roots of distances to a power."""

__all__ = ["safe_root"]

import torch
from jaxtyping import Float
from torch import Tensor


def safe_root(power: Float[Tensor, "*batch"], p: float = 2.0) -> Float[Tensor, "*batch"]:
    """The p-th root; 0, with gradient 0, where the power is 0 or rounds below.

    Example:
        >>> safe_root(torch.tensor([4.0, 0.0, -1e-17])).tolist()
        [2.0, 0.0, 0.0]
    """
    positive = power > 0
    base = torch.where(positive, power, 1.0)
    return torch.where(positive, base.sqrt() if p == 2 else base ** (1 / p), 0.0)
