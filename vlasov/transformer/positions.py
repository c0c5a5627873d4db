r"""Positions: added to the embedding, turned into queries and keys, or subtracted from scores.

.. math:: \text{sinusoidal: } p_{t,2i} = \sin(t\,\omega_i),\; p_{t,2i+1} = \cos(t\,\omega_i),
          \omega_i = 10000^{-2i/d}

.. math:: \text{rotary: } (q_{t,i}, q_{t,i'}) \mapsto R(t\,b^{-2i/k})\,(q_{t,i}, q_{t,i'}), \qquad
          \text{ALiBi: } s_{tu} \mapsto s_{tu} - 2^{-8h/H} |t - u|

Sources: Vaswani et al. (2017), section 3.5; Su et al., RoFormer, arXiv:2104.09864, Eq. (15);
Press, Smith and Lewis, arXiv:2108.12409 (slopes of head h = 1, ..., H).
"""

__all__ = [
    "Places",
    "Rotary",
    "alibi_slopes",
    "place",
    "shifted_places",
    "sinusoidal",
    "token_mask",
]

from dataclasses import dataclass, field
from functools import lru_cache

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from vlasov._shapes import LogWeights
from vlasov.attention.masks import Alibi, Causal, Mask
from vlasov.transformer.config import TransformerConfig

# (*batch, 1, n), the 1 standing for the heads; names of their own, as this is not `log_w`'s axis.
Places = Int[Tensor, "*sequences tokens"]


def sinusoidal(n: int, width: int) -> Float[Tensor, "n d"]:
    """The table of the first n positions, in float64."""
    t = torch.arange(n, dtype=torch.float64)[:, None]
    even = torch.arange(0, width, 2, dtype=torch.float64)
    angles = t * 10_000.0 ** (-even / width)
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)[:, :width]


def alibi_slopes(heads: int) -> tuple[float, ...]:
    """One slope per head: 2^(-8/heads), 2^(-16/heads), ..., 2^(-8)."""
    return tuple(2.0 ** (-8 * (head + 1) / heads) for head in range(heads))


def token_mask(config: TransformerConfig) -> Mask | None:
    """What a token of the model may see of the others; None sees everything."""
    if config.positions == "alibi":
        return Alibi(alibi_slopes(config.heads), causal=config.causal)
    return Causal() if config.causal else None


def place(padding: Bool[Tensor, "*batch tokens"]) -> Int[Tensor, "*batch tokens"]:
    """The position of every real token among the real ones, from 0; padding repeats the last."""
    return ((~padding).long().cumsum(-1) - 1).clamp(min=0)


def shifted_places(log_w: LogWeights) -> Places | None:
    """`place` by log weights, with an axis for the heads; None where no padding stands before.

    There the index of a real token is its place.
    """
    padding = log_w.isneginf()
    if bool((padding[..., 1:] >= padding[..., :-1]).all()):
        return None
    return place(padding).unsqueeze(-2)


@dataclass(frozen=True)
class Rotary:
    """Queries and keys turned by an angle proportional to the place of their token.

    `pairs` is ``halves`` (coordinate i with i + k/2) or ``neighbours`` (2i with 2i + 1). Without
    `places` the place of a token is its index.
    """

    base: float = 10_000.0
    pairs: str = "halves"
    places: Places | None = field(default=None, compare=False)

    def __call__(
        self, q: Float[Tensor, "... n k"], k: Float[Tensor, "... n k"]
    ) -> tuple[Float[Tensor, "... n k"], Float[Tensor, "... n k"]]:
        """Both turned; scores then depend on the difference of the places."""
        cos, sin = _turns(q.shape[-2], q.shape[-1], self.base, self.pairs, q.dtype, q.device)
        if self.places is not None:
            cos, sin = cos[self.places], sin[self.places]
        return self._turned(q, cos, sin), self._turned(k, cos, sin)

    def _turned(self, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        if self.pairs == "halves":
            first, second = x.chunk(2, dim=-1)
            across = torch.cat([-second, first], dim=-1)
        else:
            first, second = x.unflatten(-1, (-1, 2)).unbind(-1)
            across = torch.stack([-second, first], dim=-1).flatten(-2)
        return x * cos + across * sin


@lru_cache(maxsize=8)
def _turns(
    n: int, width: int, base: float, pairs: str, dtype: torch.dtype, device: torch.device
) -> tuple[Tensor, Tensor]:
    """Cosines and sines (n, k); of double precision first: an angle can be a thousand turns."""
    even = torch.arange(0, width, 2, dtype=torch.float64)
    angles = torch.arange(n, dtype=torch.float64)[:, None] * base ** (-even / width)
    angles = angles.repeat(1, 2) if pairs == "halves" else angles.repeat_interleave(2, dim=1)
    return angles.cos().to(device, dtype), angles.sin().to(device, dtype)
