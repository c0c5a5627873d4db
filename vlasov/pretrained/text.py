"""A text as a token cloud: one point per token, its index as position."""

__all__ = ["TextCheckpoint", "TextTokens", "read_text", "text_tokens"]

from dataclasses import dataclass
from pathlib import Path

import torch
from jaxtyping import Float
from torch import Tensor

from vlasov.errors import InvalidValue
from vlasov.pretrained.bert import BertCheckpoint
from vlasov.pretrained.llama import LlamaCheckpoint

TextCheckpoint = BertCheckpoint | LlamaCheckpoint
"""A network with a tokenizer of its own."""


@dataclass(frozen=True, eq=False)
class TextTokens:
    """The embedded tokens of a text: points of a cloud, their strings, and their order."""

    points: Float[Tensor, "n d"]
    tokens: tuple[str, ...]
    positions: Float[Tensor, " n"]


def text_tokens(
    checkpoint: TextCheckpoint, source: str | Path, max_tokens: int | None = None
) -> TextTokens:
    """The tokens of a text as they enter the first layer.

    A `Path` is read as a UTF-8 file, a string is the text itself.

    Raises:
        InvalidValue: for a missing, binary or empty file, or more tokens than positions.
    """
    text = read_text(source) if isinstance(source, Path) else source
    tokens, ids = checkpoint.read(text, max_tokens)
    model = checkpoint.transformer
    points = model.embed(torch.tensor(ids, device=next(model.parameters()).device))
    positions = torch.arange(len(tokens), dtype=points.dtype, device=points.device)
    return TextTokens(points, tuple(tokens), positions)


def read_text(path: Path) -> str:
    """The content of a UTF-8 text file.

    Raises:
        InvalidValue: if it is missing, a folder, unreadable, not text or blank.
    """
    if not path.is_file():
        found = "is a folder" if path.is_dir() else "does not exist"
        raise InvalidValue(f"A text file is needed but '{path}' {found}. Give a plain text file.")
    refusal = InvalidValue(
        f"'{path}' is not plain text in UTF-8. Convert it, or give another file."
    )
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise refusal from None
    if "\0" in text:
        raise refusal
    if not text.strip():
        raise InvalidValue(
            f"'{path}' has no text: it is empty or blank. Write some, or leave it out."
        )
    return text
