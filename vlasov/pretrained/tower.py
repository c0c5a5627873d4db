"""One door to every pretrained network: a name, whatever the family and the file format."""

__all__ = ["PretrainedTower", "pretrained_tower"]

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import torch

from vlasov.pretrained.bert import BertCheckpoint
from vlasov.pretrained.gguf_file import locate_gguf
from vlasov.pretrained.llama import LlamaCheckpoint
from vlasov.pretrained.text import TextCheckpoint, TextTokens, text_tokens
from vlasov.transformer import Transformer


@dataclass(frozen=True, eq=False)
class PretrainedTower:
    """A trained network that runs whole, with the tokenizer that belongs to it."""

    checkpoint: TextCheckpoint

    @property
    def model(self) -> Transformer:
        """The network, for evaluation and without gradients; the same object at every call."""
        return self.checkpoint.transformer

    @property
    def facts(self) -> Mapping[str, str | int | float]:
        """What a run record should say about it."""
        return self.checkpoint.facts

    def embed(self, source: str | Path, max_tokens: int | None = None) -> TextTokens:
        """The tokens of a text, or of the file at a `Path`, as they enter the first layer.

        Raises:
            InvalidValue: for a missing, binary or empty file, or more tokens than positions.
        """
        return text_tokens(self.checkpoint, source, max_tokens)


def pretrained_tower(
    name_or_path: str | Path,
    *,
    dtype: torch.dtype = torch.float32,
    device: torch.device | str = "cpu",
) -> PretrainedTower:
    """The network of a GGUF file or of a BERT folder, by path or installed package.

    Raises:
        UnknownName: if there is nothing of that name.
        InvalidValue: for a missing, unknown or damaged file, setting or tensor, by name.
        ShapeMismatch: for a tensor of another shape than is promised.
        Unsupported: for another architecture.
        MissingExtra: if a package of the extra ``pretrained`` is not installed.
    """
    family = BertCheckpoint if locate_gguf(name_or_path) is None else LlamaCheckpoint
    checkpoint = family.load(name_or_path)
    checkpoint.transformer.to(dtype=dtype, device=device)
    return PretrainedTower(checkpoint)
