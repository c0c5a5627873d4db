"""Files of a checkpoint that were cut, flipped or rewritten: refused in a sentence, or read."""

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from pretrained.tiny_gguf import write_gguf
from torch import Tensor

from vlasov.errors import InvalidValue, ShapeMismatch, VlasovError
from vlasov.pretrained import BertCheckpoint, LlamaCheckpoint
from vlasov.pretrained.gguf_file import GgufFile

gguf = pytest.importorskip("gguf")
pytest.importorskip("safetensors")

Writer = Callable[..., Path]


def _survives(read: Callable[[], object]) -> bool:
    """Whether the files are read; any error but one of ours ends the test."""
    try:
        read()
    except VlasovError:
        return False
    return True


def _flipped(whole: bytes, at: int, value: int) -> bytes:
    return whole[:at] + bytes([value]) + whole[at + 1 :]


def test_a_gguf_file_cut_anywhere_is_refused(
    tmp_path: Path, llama_weights: dict[str, Tensor]
) -> None:
    path = write_gguf(tmp_path / "tiny.gguf", llama_weights)
    whole = path.read_bytes()
    for cut in range(0, len(whole), len(whole) // 12):
        path.write_bytes(whole[:cut])
        assert not _survives(lambda: LlamaCheckpoint.load(path)), cut


def test_a_changed_byte_in_a_gguf_header_is_read_or_refused(
    tmp_path: Path, llama_weights: dict[str, Tensor]
) -> None:
    path = write_gguf(tmp_path / "tiny.gguf", llama_weights)
    whole, draw = path.read_bytes(), random.Random(0)
    header = len(whole) - 4 * sum(x.numel() for x in llama_weights.values())
    refused = 0
    for _ in range(40):
        path.write_bytes(_flipped(whole, draw.randrange(header), draw.randrange(256)))
        refused += not _survives(lambda: LlamaCheckpoint.load(path))
    assert 10 < refused < 40  # most of the header is names; some of it is words


@pytest.mark.parametrize(
    ("at", "value"), [(0, ord("H")), (4, 99)], ids=["wrong magic", "wrong version"]
)
def test_another_format_or_version_is_refused(
    tmp_path: Path, llama_weights: dict[str, Tensor], at: int, value: int
) -> None:
    path = write_gguf(tmp_path / "tiny.gguf", llama_weights)
    path.write_bytes(_flipped(path.read_bytes(), at, value))
    with pytest.raises(InvalidValue, match=r"cannot be read as GGUF .*Copy the file again"):
        LlamaCheckpoint.load(path)


def _type_at(whole: bytes, name: str) -> int:
    """Where the header has the number format of a matrix: behind its name and two sizes."""
    return whole.index(name.encode()) + len(name) + 4 + 2 * 8


@pytest.mark.parametrize(
    ("kind", "phrase"),
    [
        ("F16", r"'blk.0.attn_q.weight' is F16 and ends at byte .* behind it begins at byte"),
        ("F64", r"is F64 and ends at byte"),
        (200, "cannot be read as GGUF"),  # no format of ggml
    ],
)
def test_another_quantisation_than_that_of_the_data_is_refused(
    tmp_path: Path, llama_weights: dict[str, Tensor], kind: str | int, phrase: str
) -> None:
    path = write_gguf(tmp_path / "tiny.gguf", llama_weights)
    whole = path.read_bytes()
    number = kind if isinstance(kind, int) else int(gguf.GGMLQuantizationType[kind])
    path.write_bytes(_flipped(whole, _type_at(whole, "blk.0.attn_q.weight"), number))
    with pytest.raises(InvalidValue, match=phrase):
        GgufFile.open(path)


def test_a_safetensors_file_cut_anywhere_is_refused(write: Writer) -> None:
    folder = write()
    path = folder / "model.safetensors"
    whole = path.read_bytes()
    for cut in range(0, len(whole), len(whole) // 12):
        path.write_bytes(whole[:cut])
        with pytest.raises(InvalidValue, match="cannot be read as safetensors"):
            BertCheckpoint.load(folder)


def test_a_changed_byte_in_a_safetensors_header_is_read_or_refused(write: Writer) -> None:
    folder = write()
    path, draw = folder / "model.safetensors", random.Random(0)
    whole = path.read_bytes()
    header = 8 + int.from_bytes(whole[:8], "little")
    refused = 0
    for _ in range(40):
        path.write_bytes(_flipped(whole, draw.randrange(header), draw.randrange(256)))
        refused += not _survives(lambda: BertCheckpoint.load(folder))
    assert refused > 20


@pytest.mark.parametrize(
    ("change", "error", "phrase"),
    [
        (lambda x: torch.cat([x, x[:1]]), ShapeMismatch, "config.json promises shape"),
        (lambda x: x[:0], ShapeMismatch, "but the file holds"),
        (lambda x: x.int(), InvalidValue, r"but is of torch.int32. Save it in float32"),
        (lambda x: x.to(torch.complex64), InvalidValue, r"torch.complex64"),
    ],
    ids=["longer", "empty", "whole", "complex"],
)
def test_tensors_of_another_kind_are_refused(
    write: Writer,
    weights: dict[str, Tensor],
    change: Callable[[Tensor], Tensor],
    error: type[Exception],
    phrase: str,
) -> None:
    name = "encoder.layer.1.attention.self.key.weight"
    with pytest.raises(error, match=phrase):
        BertCheckpoint.load(write(weights | {name: change(weights[name])}))


@pytest.mark.parametrize("value", [None, "x", -1, 0, 1.5, [], {}, True, 2**70])
def test_every_setting_of_a_config_is_read_or_refused(
    write: Writer, settings: dict[str, Any], value: object
) -> None:
    folder = write()
    for name in settings:
        (folder / "config.json").write_text(json.dumps(settings | {name: value}))
        refused = not _survives(lambda: BertCheckpoint.load(folder))
        assert refused or name == "layer_norm_eps" or settings[name] == value, name


def test_a_tokenizer_that_fails_on_a_text_is_refused(write: Writer) -> None:
    folder = write()
    path = folder / "tokenizer.json"
    kept = json.loads(path.read_text())
    kept["model"]["vocab"] = {}
    path.write_text(json.dumps(kept))
    with pytest.raises(
        InvalidValue, match=r"cannot be cut into the words of the tokenizer \(Word"
    ):
        BertCheckpoint.load(folder).read("the sea")
