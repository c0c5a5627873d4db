"""Curves for TensorBoard, read back by TensorBoard itself."""

import pytest
from lra.small_runs import SMALL, splits

from vlasov.errors import RunFolderError
from vlasov.lra import event_file as module
from vlasov.lra.event_file import EventFile, event_file
from vlasov.lra.trainer import train

pytestmark = pytest.mark.usefixtures("plain_calls")
tensorboard = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")


def curve(folder, tag):
    """Epochs and values."""
    found = tensorboard.EventAccumulator(str(folder)).Reload()
    return [(one.step, one.value) for one in found.Scalars(tag)]


def test_numbers_come_back_by_name_and_epoch(tmp_path):
    file = EventFile(tmp_path / "board", 0)
    for epoch in range(3):
        file.scalars({"loss": 2.0 - epoch, "rate": 0.5}, epoch)
        assert curve(tmp_path / "board", "loss")[-1] == (epoch, 2.0 - epoch)  # at once
    assert curve(tmp_path / "board", "rate") == [(0, 0.5), (1, 0.5), (2, 0.5)]


def test_a_later_start_hides_what_it_does_again(tmp_path):
    for begin, value in ((0, 1.0), (2, 3.0)):
        file = EventFile(tmp_path, begin)
        for epoch in range(begin, 4):
            file.scalars({"loss": value}, epoch)
    assert curve(tmp_path, "loss") == [(0, 1.0), (1, 1.0), (2, 3.0), (3, 3.0)]


def test_a_training_writes_its_curves(tmp_path):
    result = train(SMALL, splits(), folder=tmp_path, device="cpu")
    found = [value for _, value in curve(tmp_path / "tensorboard", "validation_loss")]
    assert found == pytest.approx(list(result.validation_losses), rel=1e-6)  # float32


def test_a_disk_that_is_full_or_read_only_is_a_sentence(tmp_path, monkeypatch):
    file = EventFile(tmp_path, 0)

    def full(file, data):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(file._records.RecordWriter, "write", full)
    with pytest.raises(RunFolderError, match=r"Cannot write '.*tfevents.*No space left"):
        file.scalars({"loss": 1.0}, 0)
    (tmp_path / "taken").write_text("no folder")
    with pytest.raises(RunFolderError, match=r"Cannot write '.*taken"):
        event_file(tmp_path / "taken", 0)


def test_without_tensorboard_there_is_no_file(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_EVENTS", "tensorboard.no_such_module")
    assert event_file(tmp_path / "board", 0) is None
    assert not (tmp_path / "board").exists()
