from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch.testing import assert_close

from vlasov.errors import InvalidValue
from vlasov.pretrained import BertCheckpoint, text_tokens
from vlasov.pretrained.text import read_text

Writer = Callable[..., Path]


@pytest.fixture
def checkpoint(write: Writer) -> BertCheckpoint:
    return BertCheckpoint.load(write()).to(dtype=torch.float64)


def test_a_text_is_one_point_per_token_in_order(checkpoint: BertCheckpoint) -> None:
    read = text_tokens(checkpoint, "the sea is calm")
    assert read.tokens == ("[CLS]", "the", "sea", "is", "calm", "[SEP]")
    assert read.points.shape == (6, 6)
    assert read.points.dtype == read.positions.dtype == torch.float64
    assert read.positions.tolist() == [0, 1, 2, 3, 4, 5]


def test_a_path_is_read_and_a_string_is_the_text(
    checkpoint: BertCheckpoint, tmp_path: Path
) -> None:
    path = tmp_path / "text.txt"
    path.write_bytes(b"\xef\xbb\xbfthe sea\r\nis calm")  # byte-order mark and CRLF of Windows
    read, direct = text_tokens(checkpoint, path), text_tokens(checkpoint, "the sea is calm")
    assert read.tokens == direct.tokens
    assert_close(read.points, direct.points, rtol=0, atol=0)


def test_a_text_can_be_cut(checkpoint: BertCheckpoint) -> None:
    assert len(text_tokens(checkpoint, "the sea is calm", max_tokens=4).tokens) == 4


@pytest.mark.parametrize("content", [b"\xff\xfe\x00s", b"sea\x00calm", b"\x89PNG\r\n\x1a\n"])
def test_a_binary_file_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "picture.png"
    path.write_bytes(content)
    with pytest.raises(InvalidValue, match="is not plain text in UTF-8"):
        read_text(path)


def test_a_missing_file_and_a_folder_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidValue, match="does not exist"):
        read_text(tmp_path / "absent.txt")
    with pytest.raises(InvalidValue, match="is a folder"):
        read_text(tmp_path)


def test_an_empty_file_is_refused(checkpoint: BertCheckpoint, tmp_path: Path) -> None:
    (tmp_path / "empty.txt").touch()
    with pytest.raises(InvalidValue, match=r"empty\.txt' has no text: it is empty or blank"):
        text_tokens(checkpoint, tmp_path / "empty.txt")


def test_a_text_of_thousands_of_lines_is_refused_or_cut(
    checkpoint: BertCheckpoint, tmp_path: Path
) -> None:
    path = tmp_path / "long.txt"
    path.write_text("the sea is calm\n" * 5000)
    with pytest.raises(InvalidValue, match="20002 tokens but the checkpoint has only 12"):
        text_tokens(checkpoint, path)
    assert len(text_tokens(checkpoint, path, max_tokens=12).tokens) == 12


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"], ids=["lf", "crlf", "cr"])
def test_endings_of_lines_and_a_byte_order_mark_are_no_tokens(
    checkpoint: BertCheckpoint, tmp_path: Path, ending: str
) -> None:
    path = tmp_path / "lines.txt"
    path.write_bytes(f"\ufeffthe sea{ending}is calm{ending}".encode())
    found = text_tokens(checkpoint, path)
    assert found.tokens == ("[CLS]", "the", "sea", "is", "calm", "[SEP]")


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16", "cp1252"])
def test_a_text_that_is_not_utf8_is_refused(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "other.txt"
    path.write_bytes("déjà vu".encode(encoding))
    with pytest.raises(InvalidValue, match=r"is not plain text in UTF-8\. Convert it"):
        read_text(path)
