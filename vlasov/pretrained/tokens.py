"""A text cut into the words of a checkpoint's vocabulary."""

__all__ = ["pieces", "read_tokenizer", "tokenize"]

from pathlib import Path
from typing import Any

from vlasov.errors import InvalidValue
from vlasov.pretrained.checkpoint import extra


def tokenize(
    tokenizer: Path, text: str, *, limit: int, max_tokens: int | None = None
) -> tuple[list[str], list[int]]:
    """The tokens of a text by a ``tokenizer.json``, as in `pieces`.

    Raises:
        InvalidValue: as `pieces`, and for a damaged ``tokenizer.json``.
        MissingExtra: if tokenizers is not installed.
    """
    return pieces(read_tokenizer(tokenizer), text, limit=limit, max_tokens=max_tokens)


def read_tokenizer(path: Path) -> Any:  # noqa: ANN401 - `tokenizers` is no dependency
    """The tokenizer that a ``tokenizer.json`` describes.

    Raises:
        InvalidValue: for a damaged file.
        MissingExtra: if tokenizers is not installed.
    """
    library = extra("tokenizers")
    try:
        return library.Tokenizer.from_file(str(path))
    except Exception as error:  # tokenizers raises nothing more specific
        raise InvalidValue(
            f"'{path}' cannot be read as a tokenizer ({error}). Copy the file again."
        ) from None


def pieces(
    tokenizer: Any,  # noqa: ANN401
    text: str,
    *,
    limit: int,
    max_tokens: int | None = None,
) -> tuple[list[str], list[int]]:
    """The tokens of a text, marks such as ``[CLS]`` included, and their entries in the vocabulary.

    Padding and truncation written into the file are switched off: a pad token would be one more
    particle, and a silent cut would lose the end of the text. `limit` is the number of positions,
    `max_tokens` cuts the text.

    Raises:
        InvalidValue: for a text without tokens or with more than `limit`, an impossible
            `max_tokens`, or a tokenizer that fails on the text.
    """
    shortest = tokenizer.num_special_tokens_to_add(is_pair=False) + 1
    if max_tokens is not None and not shortest <= max_tokens <= limit:
        raise InvalidValue(
            f"max_tokens must lie between {shortest} and the checkpoint's {limit} positions "
            f"but is {max_tokens}."
        )
    tokenizer.no_padding()
    tokenizer.no_truncation()
    if max_tokens is not None:
        tokenizer.enable_truncation(max_tokens)
    try:
        encoding = tokenizer.encode(text)
    except Exception as error:  # tokenizers raises nothing more specific
        raise InvalidValue(
            f"The text cannot be cut into the words of the tokenizer ({error}). Copy the "
            "tokenizer again, or correct the text."
        ) from None
    if all(encoding.special_tokens_mask) or not text.strip():
        raise InvalidValue("The text has no tokens: it is empty or blank. Give a text with words.")
    if len(encoding.ids) > limit:
        raise InvalidValue(
            f"The text has {len(encoding.ids)} tokens but the checkpoint has only {limit} "
            f"positions. Shorten the text, or set max_tokens={limit} to cut it."
        )
    return encoding.tokens, encoding.ids
