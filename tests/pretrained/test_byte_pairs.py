"""The tokenizer of a GGUF file."""

from collections.abc import Callable
from typing import Any

import pytest
from pretrained.tiny_gguf import MERGES, vocabulary

from vlasov.errors import InvalidValue, MissingExtra, Unsupported
from vlasov.pretrained.byte_pairs import byte_pair_tokenizer
from vlasov.pretrained.tokens import pieces

pytest.importorskip("tokenizers")


@pytest.fixture
def header() -> dict[str, Any]:
    words = vocabulary()
    return {
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": "smollm",
        "tokenizer.ggml.tokens": words,
        "tokenizer.ggml.token_type": [3, *[1] * (len(words) - 1)],
        "tokenizer.ggml.merges": list(MERGES),
    }


def test_pairs_merge_in_the_order_of_the_file(header: dict[str, Any]) -> None:
    tokens, ids = pieces(byte_pair_tokenizer(header), "the sea the", limit=12)
    assert tokens == ["the", "Ġsea", "Ġthe"]
    assert [vocabulary()[entry] for entry in ids] == tokens


@pytest.mark.parametrize("text", ["naïve — 日本", " two\n\n  lines ", "a 1234"])
def test_every_byte_comes_back(header: dict[str, Any], text: str) -> None:
    tokenizer = byte_pair_tokenizer(header)
    _, ids = pieces(tokenizer, text, limit=99)
    assert tokenizer.decode(ids) == text


@pytest.mark.parametrize(("cut", "count"), [("smollm", 2), ("gpt-2", 1)])
def test_digits_stand_alone_where_the_cut_says_so(
    header: dict[str, Any], cut: str, count: int
) -> None:
    words = [*header["tokenizer.ggml.tokens"], "12"]
    merges = [*header["tokenizer.ggml.merges"], "1 2"]
    types = [*header["tokenizer.ggml.token_type"], 1]
    changed = {
        "tokenizer.ggml.pre": cut,
        "tokenizer.ggml.tokens": words,
        "tokenizer.ggml.merges": merges,
        "tokenizer.ggml.token_type": types,
    }
    assert len(pieces(byte_pair_tokenizer(header | changed), "12", limit=9)[1]) == count


def test_a_text_can_be_cut_and_must_fit(header: dict[str, Any]) -> None:
    tokenizer = byte_pair_tokenizer(header)
    assert len(pieces(tokenizer, "the sea the sea", limit=9, max_tokens=1)[1]) == 1
    with pytest.raises(InvalidValue, match="4 tokens but the checkpoint has only 3"):
        pieces(tokenizer, "the sea the sea", limit=3)
    with pytest.raises(InvalidValue, match="max_tokens must lie between 1 and"):
        pieces(tokenizer, "the", limit=3, max_tokens=0)


@pytest.mark.parametrize("text", ["", " \n\t "])
def test_an_empty_text_is_refused(header: dict[str, Any], text: str) -> None:
    with pytest.raises(InvalidValue, match="has no tokens: it is empty or blank"):
        pieces(byte_pair_tokenizer(header), text, limit=12)


@pytest.mark.parametrize(
    "changed",
    [
        {"tokenizer.ggml.model": "llama"},
        {"tokenizer.ggml.pre": "llama-bpe"},
        {"tokenizer.ggml.pre": None},
        {"tokenizer.ggml.add_bos_token": True},
    ],
    ids=lambda changed: next(iter(changed)).rpartition(".")[2],
)
def test_another_tokenizer_is_refused(header: dict[str, Any], changed: dict[str, Any]) -> None:
    with pytest.raises(Unsupported, match="Only byte-level tokenizers"):
        byte_pair_tokenizer(header | changed)


def test_lists_that_miss_or_contradict_each_other_are_refused(header: dict[str, Any]) -> None:
    with pytest.raises(InvalidValue, match=r"needs tokenizer\.ggml\.merges"):
        byte_pair_tokenizer(header | {"tokenizer.ggml.merges": []})
    with pytest.raises(InvalidValue, match="merges do not fit the vocabulary"):
        byte_pair_tokenizer(header | {"tokenizer.ggml.merges": ["q z"]})
    with pytest.raises(InvalidValue, match="300 types"):
        byte_pair_tokenizer(header | {"tokenizer.ggml.token_type": [1] * 300})


def test_a_missing_extra_gives_the_install_command(
    header: dict[str, Any], hide_module: Callable[[str], None]
) -> None:
    hide_module("tokenizers")
    with pytest.raises(MissingExtra, match="'tokenizers', which is not installed"):
        byte_pair_tokenizer(header)
