import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from vlasov.errors import InvalidValue, MissingExtra
from vlasov.pretrained.tokens import tokenize

Writer = Callable[..., Path]


@pytest.fixture
def tokenizer(write: Writer) -> Path:
    return write() / "tokenizer.json"


def test_padding_and_truncation_of_the_file_are_off(tokenizer: Path) -> None:
    tokens, ids = tokenize(tokenizer, "the sea is calm and black", limit=12)
    assert tokens == ["[CLS]", "the", "sea", "is", "calm", "and", "black", "[SEP]"]
    assert ids == [2, 4, 5, 6, 7, 8, 9, 3]
    short, _ = tokenize(tokenizer, "calm", limit=12)
    assert short == ["[CLS]", "calm", "[SEP]"]


def test_a_cut_keeps_both_marks(tokenizer: Path) -> None:
    tokens, _ = tokenize(tokenizer, "the sea is calm and black", limit=12, max_tokens=5)
    assert tokens == ["[CLS]", "the", "sea", "is", "[SEP]"]


def test_a_text_longer_than_the_positions_says_how_to_shorten(tokenizer: Path) -> None:
    text = " ".join(["sea"] * 20)
    with pytest.raises(InvalidValue, match="22 tokens but the checkpoint has only 12"):
        tokenize(tokenizer, text, limit=12)
    assert len(tokenize(tokenizer, text, limit=12, max_tokens=12)[1]) == 12


@pytest.mark.parametrize("max_tokens", [-1, 0, 2, 13])
def test_an_impossible_cut_is_refused(tokenizer: Path, max_tokens: int) -> None:
    with pytest.raises(InvalidValue, match="max_tokens must lie between 3 and"):
        tokenize(tokenizer, "calm", limit=12, max_tokens=max_tokens)


@pytest.mark.parametrize("text", ["", " \n\t "])
def test_an_empty_text_is_refused(tokenizer: Path, text: str) -> None:
    with pytest.raises(InvalidValue, match="has no tokens: it is empty or blank"):
        tokenize(tokenizer, text, limit=12)


def test_a_damaged_tokenizer_is_refused(tokenizer: Path) -> None:
    tokenizer.write_text("{}")
    with pytest.raises(InvalidValue, match="cannot be read as a tokenizer"):
        tokenize(tokenizer, "calm", limit=12)


def test_a_missing_tokenizers_package_gives_the_install_command(
    tokenizer: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with pytest.raises(MissingExtra, match=r"'tokenizers', which is not installed.*pip install"):
        tokenize(tokenizer, "calm", limit=12)
