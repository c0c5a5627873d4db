"""Towers at initialisation: a Transformer that takes points, for ablations before training."""

__all__ = ["random_tower"]

import torch

from vlasov.transformer.config import TransformerConfig
from vlasov.transformer.model import Transformer
from vlasov.transformer.stabilisers import Stabilisers


def random_tower(  # noqa: PLR0913 - one keyword per choice of an ablation
    width: int,
    depth: int,
    heads: int = 1,
    *,
    mlp: str = "relu",
    stabilisers: Stabilisers | None = None,
    init: str = "he",
    seed: int = 0,
    dtype: torch.dtype = torch.float64,
    attention: str = "softmax",
    causal: bool = False,
    mlp_width: int | None = None,
) -> Transformer:
    """Random blocks without embedding, positions, offsets or head.

    The draws of a seed are the same in any dtype, up to rounding; ``tower.states(x)`` gives the
    depth + 1 clouds.

    Example:
        >>> tower = random_tower(4, 2)
        >>> len(tower.states(torch.ones(3, 4, dtype=torch.float64)))
        3
    """
    config = TransformerConfig(
        width=width,
        depth=depth,
        heads=heads,
        attention=attention,
        causal=causal,
        positions="none",
        mlp=mlp,
        mlp_width=mlp_width,
        bias=False,
        init=init,
    )
    return Transformer(config, stabilisers, seed=seed, dtype=dtype)
