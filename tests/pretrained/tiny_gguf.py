"""A tiny random Llama decoder as a GGUF file; its square matrices are not symmetric."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

MERGES = ("t h", "th e", "Ġ the", "s e", "se a", "Ġ sea")

SETTINGS: dict[str, Any] = {
    "llama.block_count": 2,
    "llama.attention.head_count": 4,
    "llama.attention.head_count_kv": 2,
    "llama.embedding_length": 16,
    "llama.feed_forward_length": 24,
    "llama.context_length": 12,
    "llama.attention.layer_norm_rms_epsilon": 1e-3,
    "llama.rope.freq_base": 100.0,
}
"""Sizes by key; a value of None in a change takes the key out of the file."""


def vocabulary() -> list[str]:
    """A mark, one letter for each byte, and what the merges make."""
    from tokenizers.pre_tokenizers import ByteLevel

    return ["<end>", *sorted(ByteLevel.alphabet()), *(m.replace(" ", "") for m in MERGES)]


def draw(generator: torch.Generator) -> dict[str, Tensor]:
    """Every tensor, in float32."""
    d, m, shared, words = 16, 24, 8, len(vocabulary())
    shapes: dict[str, tuple[int, ...]] = {"token_embd": (words, d), "output_norm": (d,)}
    for base in ("blk.0", "blk.1"):
        shapes |= {
            f"{base}.attn_norm": (d,), f"{base}.attn_q": (d, d), f"{base}.attn_k": (shared, d),
            f"{base}.attn_v": (shared, d), f"{base}.attn_output": (d, d), f"{base}.ffn_norm": (d,),
            f"{base}.ffn_gate": (m, d), f"{base}.ffn_up": (m, d), f"{base}.ffn_down": (d, m),
        }  # fmt: skip
    return {
        f"{name}.weight": torch.randn(shape, generator=generator) / shape[-1] ** 0.5
        for name, shape in shapes.items()
    }


def write_gguf(
    path: Path, tensors: Mapping[str, Tensor], changed: Mapping[str, Any] | None = None
) -> Path:
    """The file, with changed settings on request."""
    gguf = pytest.importorskip("gguf")
    words = vocabulary()
    settings = SETTINGS | {
        "general.architecture": "llama",
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": "smollm",
        "tokenizer.ggml.tokens": words,
        "tokenizer.ggml.token_type": [3, *[1] * (len(words) - 1)],
        "tokenizer.ggml.merges": list(MERGES),
    }
    settings |= changed or {}
    writer = gguf.GGUFWriter(str(path), settings["general.architecture"])
    for key, value in settings.items():
        if value is not None and key != "general.architecture":
            _add(writer, key, value)
    for name, tensor in tensors.items():
        writer.add_tensor(name, tensor.numpy())
    for step in (
        writer.write_header_to_file,
        writer.write_kv_data_to_file,
        writer.write_tensors_to_file,
        writer.close,
    ):
        step()
    return path


def _add(writer: Any, key: str, value: object) -> None:
    match value:
        case bool():
            writer.add_bool(key, value)
        case int():
            writer.add_uint32(key, value)
        case float():
            writer.add_float32(key, value)
        case str():
            writer.add_string(key, value)
        case _:
            writer.add_array(key, value)
