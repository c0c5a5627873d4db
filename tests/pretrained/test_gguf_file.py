from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from pretrained.tiny_gguf import write_gguf
from torch import Tensor
from torch.testing import assert_close

from vlasov.errors import InvalidValue, MissingExtra, NotFinite, UnknownName, Unsupported
from vlasov.pretrained.gguf_file import GgufFile, locate_gguf

gguf = pytest.importorskip("gguf")


def test_tensors_come_as_written_rows_first(
    tmp_path: Path, llama_weights: dict[str, Tensor]
) -> None:
    file = GgufFile.open(write_gguf(tmp_path / "tiny.gguf", llama_weights))
    assert file.shapes == {name: tuple(x.shape) for name, x in llama_weights.items()}
    for name, expected in llama_weights.items():
        assert_close(file.tensor(name), expected, rtol=0, atol=0)


def test_blocks_are_made_float32_as_their_format_says(tmp_path: Path) -> None:
    """Q8_0: 32 numbers share one half-precision scale, each an integer from -127 to 127."""
    plain = torch.linspace(-3.0, 5.0, 3 * 64).reshape(3, 64)
    blocks = gguf.quants.quantize(plain.numpy(), gguf.GGMLQuantizationType.Q8_0)
    writer = gguf.GGUFWriter(str(tmp_path / "q.gguf"), "llama")
    writer.add_tensor("a", blocks, raw_dtype=gguf.GGMLQuantizationType.Q8_0)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    read = GgufFile.open(tmp_path / "q.gguf").tensor("a")
    assert read.dtype == torch.float32
    largest = plain.reshape(3, 2, 32).abs().amax(-1, keepdim=True)
    # half an integer of the scale, and the rounding of the scale to half precision
    bound = largest / 127 * 0.5 + largest * float(np.finfo(np.float16).eps)
    assert bool(((read - plain).reshape(3, 2, 32).abs() <= bound).all())


def test_numbers_that_are_not_finite_are_refused(tmp_path: Path) -> None:
    path = write_gguf(tmp_path / "nan.gguf", {"a": torch.tensor([1.0, torch.nan])})
    with pytest.raises(NotFinite, match="'a' holds NaN"):
        GgufFile.open(path).tensor("a")


def test_whole_numbers_are_no_weights(tmp_path: Path) -> None:
    path = write_gguf(tmp_path / "whole.gguf", {"a": torch.ones(4, dtype=torch.int32)})
    with pytest.raises(Unsupported, match="'a' is I32"):
        GgufFile.open(path).tensor("a")


@pytest.mark.parametrize("cut", [0, 3, 20, 600])
def test_a_damaged_file_is_refused(
    tmp_path: Path, llama_weights: dict[str, Tensor], cut: int
) -> None:
    path = write_gguf(tmp_path / "tiny.gguf", llama_weights)
    path.write_bytes(path.read_bytes()[:cut])
    with pytest.raises(InvalidValue, match="cannot be read as GGUF"):
        GgufFile.open(path)


def test_a_file_of_another_format_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "other.gguf"
    path.write_bytes(b"version https://git-lfs.github.com/spec/v1" * 9)
    with pytest.raises(InvalidValue, match="cannot be read as GGUF"):
        GgufFile.open(path)


def test_a_missing_extra_gives_the_install_command(
    tmp_path: Path, hide_module: Callable[[str], None]
) -> None:
    hide_module("gguf")
    with pytest.raises(MissingExtra, match=r"'gguf', which is not installed.*pip install"):
        GgufFile.open(tmp_path / "tiny.gguf")


def test_a_file_is_found_by_path_and_by_folder(tmp_path: Path) -> None:
    assert locate_gguf(tmp_path) is None
    (tmp_path / "tiny.gguf").touch()
    assert locate_gguf(tmp_path) == locate_gguf(tmp_path / "tiny.gguf") == tmp_path / "tiny.gguf"
    (tmp_path / "more.gguf").touch()
    with pytest.raises(UnknownName, match=r"holds 2: more\.gguf, tiny\.gguf"):
        locate_gguf(tmp_path)


@pytest.mark.parametrize("name", ["pytest", "no-such-package", "no/such/folder", ""])
def test_where_there_is_none_there_is_none(name: str) -> None:
    assert locate_gguf(name) is None
