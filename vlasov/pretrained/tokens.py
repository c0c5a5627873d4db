"""A text cut into the words of a checkpoint's vocabulary."""

__all__ = ["tokenize"]

from pathlib import Path

from vlasov.errors import InvalidValue
from vlasov.pretrained.checkpoint import extra

_SHORTEST = 3  # two marks and one word


def tokenize(
    tokenizer: Path, text: str, *, limit: int, max_tokens: int | None = None
) -> tuple[list[str], list[int]]:
    """The tokens of a text, marks such as ``[CLS]`` included, and their entries in the vocabulary.

    Padding and truncation written into the file are switched off: a pad token would be one more
    particle, and a silent cut would lose the end of the text.

    Raises:
        InvalidValue: for a text without tokens or with more than `limit`, an impossible
            `max_tokens`, or a damaged ``tokenizer.json``.
        MissingExtra: if tokenizers is not installed.
    """
    if max_tokens is not None and not _SHORTEST <= max_tokens <= limit:
        raise InvalidValue(
            f"max_tokens must lie between {_SHORTEST} and the checkpoint's {limit} positions "
            f"but is {max_tokens}."
        )
    tokens, ids, marks = _pieces(tokenizer, text, max_tokens)
    if all(marks):
        raise InvalidValue("The text has no tokens: it is empty or blank. Give a text with words.")
    if len(ids) > limit:
        raise InvalidValue(
            f"The text has {len(ids)} tokens but the checkpoint has only {limit} "
            f"positions. Shorten the text, or set max_tokens={limit} to cut it."
        )
    return tokens, ids


def _pieces(
    path: Path, text: str, max_tokens: int | None
) -> tuple[list[str], list[int], list[int]]:
    """Tokens, their entries, and 1 where a token is a mark."""
    library = extra("tokenizers")
    try:
        tokenizer = library.Tokenizer.from_file(str(path))
    except Exception as error:  # tokenizers raises nothing more specific
        raise InvalidValue(
            f"'{path}' cannot be read as a tokenizer ({error}). Copy the file again."
        ) from None
    tokenizer.no_padding()
    tokenizer.no_truncation()
    if max_tokens is not None:
        tokenizer.enable_truncation(max_tokens)
    encoding = tokenizer.encode(text)
    return encoding.tokens, encoding.ids, encoding.special_tokens_mask
