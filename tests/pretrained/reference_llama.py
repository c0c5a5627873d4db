"""A Llama decoder written down plainly from its tensors, in the precision they come in.

Source: Touvron et al., LLaMA (2023), section 2.2; Su et al., RoFormer (2021), Eq. (34).
"""

from collections.abc import Callable

import torch
from torch import Tensor

from vlasov.pretrained.llama_config import LlamaConfig


def reference_states(
    config: LlamaConfig, tensor: Callable[[str], Tensor], ids: Tensor
) -> list[Tensor]:
    """The embeddings, then the output of each layer, before the last norm."""
    x = tensor("token_embd.weight")[ids]
    states = [x]
    for index in range(config.layers):
        w = {
            name: tensor(f"blk.{index}.{name}.weight")
            for name in (
                "attn_norm", "attn_q", "attn_k", "attn_v", "attn_output",
                "ffn_norm", "ffn_gate", "ffn_up", "ffn_down",
            )
        }  # fmt: skip
        x = x + _attention(config, w, _rms(x, w["attn_norm"], config.norm_eps))
        y = _rms(x, w["ffn_norm"], config.norm_eps)
        gate = y @ w["ffn_gate"].T
        x = x + (gate * torch.sigmoid(gate) * (y @ w["ffn_up"].T)) @ w["ffn_down"].T
        states.append(x)
    return states


def reference_logits(config: LlamaConfig, tensor: Callable[[str], Tensor], last: Tensor) -> Tensor:
    """The scores of every word of the vocabulary to come next, words out tied to words in."""
    normed = _rms(last, tensor("output_norm.weight"), config.norm_eps)
    return normed @ tensor("token_embd.weight").T


def _rms(x: Tensor, gain: Tensor, eps: float) -> Tensor:
    return x / (x.square().mean(-1, keepdim=True) + eps).sqrt() * gain


def _attention(config: LlamaConfig, w: dict[str, Tensor], x: Tensor) -> Tensor:
    n, k = len(x), config.head_width
    place = torch.arange(n, dtype=x.dtype)
    heads = []
    for head in range(config.heads):
        shared = head * config.kv_heads // config.heads
        rows, common = slice(head * k, (head + 1) * k), slice(shared * k, (shared + 1) * k)
        query = _turned(x @ w["attn_q"][rows].T, place, config.rotary_base)
        key = _turned(x @ w["attn_k"][common].T, place, config.rotary_base)
        scores = query @ key.T / k**0.5
        past = scores.masked_fill(place[None, :] > place[:, None], -torch.inf)
        heads.append(past.softmax(-1) @ (x @ w["attn_v"][common].T))
    return torch.cat(heads, -1) @ w["attn_output"].T


def _turned(x: Tensor, place: Tensor, base: float) -> Tensor:
    """Coordinates 2i and 2i+1 of token p as one complex number, times exp(i p base^(-2i/k))."""
    k = x.shape[-1]
    speed = base ** (-torch.arange(0, k, 2, dtype=x.dtype) / k)
    pairs = torch.view_as_complex(x.reshape(len(x), k // 2, 2).contiguous())
    angle = torch.outer(place, speed)
    return torch.view_as_real(pairs * torch.polar(torch.ones_like(angle), angle)).flatten(1)
