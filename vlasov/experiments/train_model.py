"""A Transformer that names a symbol at every place of a sequence."""

__all__ = ["TokenScores"]

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional

from vlasov._shapes import Points
from vlasov.transformer import Stabilisers, Transformer, TransformerConfig

_READOUT = 2_000_003  # the readout of a seed is drawn apart from its network


class TokenScores(nn.Module):
    """A tower and a linear map of each of its last tokens to scores of the vocabulary.

    A language head that also serves networks without a causal mask. The map is N(0, 1/d).
    """

    def __init__(
        self,
        config: TransformerConfig,
        stabilisers: Stabilisers,
        *,
        seed: int = 0,
        dtype: torch.dtype = torch.float64,
    ) -> None:
        super().__init__()
        self.tower = Transformer(config, stabilisers, seed=seed, dtype=dtype)
        generator = torch.Generator().manual_seed(seed + _READOUT)
        shape = (config.entries, config.width)
        drawn = torch.randn(shape, generator=generator, dtype=torch.float64)
        self.out = nn.Parameter((drawn / math.sqrt(config.width)).to(dtype))

    def forward(self, inputs: Int[Tensor, "*batch n"]) -> Float[Tensor, "*batch n v"]:
        """Scores at each place of a sequence."""
        return self.scores(self.tower.embed(inputs))

    def scores(self, x: Points) -> Float[Tensor, "*batch n v"]:
        """Scores from the points that enter the first layer."""
        last = self.tower.states(x)[-1]
        return functional.linear(self.tower.leave(last), self.out)
