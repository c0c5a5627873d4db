"""Checkpoints: loaded by the safe loader, no larger than what they hold, never half written."""

import argparse
from pathlib import Path
from typing import BinaryIO

import numpy as np
import pytest
import torch

from vlasov.errors import InvalidValue, RunFolderError
from vlasov.experiments import checkpoint as module
from vlasov.experiments.checkpoint import Checkpoint, load_checkpoint, plain, save_checkpoint


def test_a_checkpoint_comes_back(tmp_path: Path) -> None:
    state = {"t": 0.25, "x": torch.eye(2), "ended": {0: ("steady", 1.0)}, "none": None, "on": True}
    save_checkpoint(tmp_path / "c.pt", Checkpoint(3, state, (0.5, torch.ones(2, 2))))
    back = load_checkpoint(tmp_path / "c.pt")
    assert back.frames == 3
    assert torch.equal(back.state["x"], state["x"])
    assert back.state["ended"] == {0: ("steady", 1.0)}
    assert back.last is not None
    assert back.last[0] == 0.5


@pytest.mark.parametrize(
    "value",
    [np.float64(0.5), np.random.default_rng(0).random(3), Path("runs/one"), [np.int64(3)]],
    ids=["numpy scalar", "array", "path", "nested"],
)
def test_g06_the_weights_only_loader_takes_our_files(tmp_path: Path, value: object) -> None:
    save_checkpoint(tmp_path / "c.pt", Checkpoint(0, {"value": value}))
    assert torch.load(tmp_path / "c.pt", weights_only=True)["state"]["value"] is not None


def test_g06_an_object_is_refused_by_name_before_it_is_written(tmp_path: Path) -> None:
    state = {"rng": {"settings": argparse.Namespace(lr=1)}}
    with pytest.raises(InvalidValue, match=r"state\.state\.rng\.settings is a Namespace"):
        save_checkpoint(tmp_path / "c.pt", Checkpoint(0, state))
    assert not list(tmp_path.iterdir())


def test_g07_the_slice_of_a_trajectory_is_saved_alone(tmp_path: Path) -> None:
    trajectory = torch.zeros(100, 1000, 2, dtype=torch.float64)
    path = save_checkpoint(tmp_path / "c.pt", Checkpoint(1, {"x": trajectory[-1]}))
    assert path.stat().st_size < 100_000


def test_a_whole_tensor_is_not_copied() -> None:
    x = torch.zeros(4)
    kept = plain(x)
    assert isinstance(kept, torch.Tensor)
    assert kept.data_ptr() == x.data_ptr()


@pytest.mark.parametrize("failure", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_g05_a_save_that_dies_leaves_the_checkpoint_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failure: BaseException
) -> None:
    path = tmp_path / "c.pt"
    save_checkpoint(path, Checkpoint(1, {"x": torch.ones(3)}))

    def half(content: object, file: BinaryIO) -> None:
        file.write(b"half")
        raise failure

    monkeypatch.setattr(module.torch, "save", half)
    with pytest.raises((RunFolderError, KeyboardInterrupt)):
        save_checkpoint(path, Checkpoint(2, {"x": torch.zeros(3)}))
    monkeypatch.undo()
    assert load_checkpoint(path).frames == 1
    save_checkpoint(path, Checkpoint(3, {}))  # over the stray half
    assert [p.name for p in tmp_path.iterdir()] == ["c.pt"]


def test_a_full_disk_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(RunFolderError, match=r"Cannot write .*No such file"):
        save_checkpoint(tmp_path / "gone" / "c.pt", Checkpoint(1, {}))


@pytest.mark.parametrize(
    "content", [b"", b"not a checkpoint", None], ids=["empty", "text", "other"]
)
def test_a_damaged_checkpoint_is_refused(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "c.pt"
    if content is None:
        torch.save({"other": 1}, path)
    else:
        path.write_bytes(content)
    with pytest.raises(RunFolderError, match="cannot be read as a checkpoint"):
        load_checkpoint(path)
