"""A BERT encoder written down plainly from its tensors, in the precision they come in.

Source: Devlin et al., BERT (2019), section 3; Vaswani et al. (2017), section 3.
"""

import math
from collections.abc import Mapping

import torch
from torch import Tensor

from vlasov.pretrained import BertConfig


def reference_states(config: BertConfig, w: Mapping[str, Tensor], ids: Tensor) -> list[Tensor]:
    """The embeddings of one text, then the output of each layer."""
    n = len(ids)
    x = w["embeddings.word_embeddings.weight"][ids]
    x = x + w["embeddings.position_embeddings.weight"][torch.arange(n)]
    x = x + w["embeddings.token_type_embeddings.weight"][torch.zeros(n, dtype=torch.long)]
    states = [_norm(config, w, "embeddings", x)]
    for index in range(config.layers):
        base = f"encoder.layer.{index}"
        x = states[-1]
        seen = reference_attention(config, w, index, x)
        x = _norm(config, w, f"{base}.attention.output", x + seen)
        hidden = _map(w, f"{base}.intermediate.dense", x)
        gelu = hidden * (1 + torch.erf(hidden / math.sqrt(2))) / 2
        states.append(
            _norm(config, w, f"{base}.output", x + _map(w, f"{base}.output.dense", gelu))
        )
    return states


def reference_attention(
    config: BertConfig, w: Mapping[str, Tensor], index: int, x: Tensor
) -> Tensor:
    """What one layer adds to each token, before residual and norm."""
    base, k = f"encoder.layer.{index}.attention", config.head_width
    q, key, v = (_map(w, f"{base}.self.{name}", x) for name in ("query", "key", "value"))
    heads = []
    for head in range(config.heads):
        own = slice(head * k, (head + 1) * k)
        scores = q[:, own] @ key[:, own].T / math.sqrt(k)
        heads.append(scores.softmax(-1) @ v[:, own])
    return _map(w, f"{base}.output.dense", torch.cat(heads, -1))


def _map(w: Mapping[str, Tensor], name: str, x: Tensor) -> Tensor:
    return x @ w[f"{name}.weight"].T + w[f"{name}.bias"]


def _norm(config: BertConfig, w: Mapping[str, Tensor], name: str, x: Tensor) -> Tensor:
    centred = x - x.mean(-1, keepdim=True)
    spread = (centred.square().mean(-1, keepdim=True) + config.norm_eps).sqrt()
    return centred / spread * w[f"{name}.LayerNorm.weight"] + w[f"{name}.LayerNorm.bias"]
