"""`vlasov train` stopped by a signal, a full disk, a locked folder; with real trainings."""

import os
import shutil
import signal
from pathlib import Path

import pytest
import torch
from click.testing import CliRunner

from cli.main import cli
from vlasov.experiments import lra_run, lra_work
from vlasov.lra import checkpoints
from vlasov.lra.sole_use import sole_use
from vlasov.lra.trainer import train

LISTS = ("listops:shortest=16,longest=64", "--length", "64", "--size", "tiny", "--epochs", "2",
         "--train-examples", "16", "--no-figures")  # fmt: skip
FOLDER = Path("listops/none/seed-0")


def weights(root):
    """The last and the best weights of the run."""
    files = [torch.load(Path(root) / FOLDER / f"{name}.pt", weights_only=True)["model"]
             for name in ("last", "best")]  # fmt: skip
    return torch.cat([x.flatten() for file in files for x in file.values()])


@pytest.fixture(scope="module")
def ended(tmp_path_factory):
    """The folder of a run that nobody stopped."""
    folder = tmp_path_factory.mktemp("ended") / "whole"
    assert CliRunner().invoke(cli, ["train", *LISTS, "--out", str(folder)]).exit_code == 0
    return folder


@pytest.fixture
def whole(ended, call):
    """Its weights; a copy of it lies in the folder of the test."""
    shutil.copytree(ended, "whole")
    return weights("whole")


@pytest.fixture
def at_step(monkeypatch):
    """Do something within a training, at a step of it."""

    def arrange(step, act):
        def watched(*words, **given):
            told = given.pop("watch")

            def watch(report):
                told(report)
                if report.step == step:
                    act()

            return train(*words, watch=watch, **given)

        monkeypatch.setattr(lra_work, "train", watched)

    return arrange


@pytest.fixture
def heeded():
    """Have SIGINT heeded, which a shell may have ignored."""
    outer = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, outer)


@pytest.mark.usefixtures("heeded")
@pytest.mark.parametrize(
    ("number", "status"),
    [(signal.SIGINT, 130), pytest.param(signal.SIGTERM, 143, marks=pytest.mark.slow)],
)
def test_a_signal_ends_a_training_that_goes_on_to_the_same_weights(
    call, whole, at_step, monkeypatch, number, status
):
    at_step(3, lambda: os.kill(os.getpid(), number))
    stopped = call("train", *LISTS, "--out", "parts")
    assert stopped.exit_code == status, stopped.output
    assert "0 of 1 runs ended. The others can be done with --resume." in stopped.output
    monkeypatch.setattr(lra_work, "train", train)
    resumed = call("train", "--resume", "--out", "parts", "--no-figures")
    assert "1 of 1 runs ended." in resumed.output
    assert torch.equal(weights("parts"), whole)


def test_a_disk_that_fills_up_is_one_sentence_and_the_older_checkpoint_goes_on(
    call, whole, monkeypatch
):
    writing = checkpoints._write

    def filling(path, buffer):
        if (Path("parts") / FOLDER / checkpoints.OLDER).exists():
            path.write_bytes(bytes(buffer.getbuffer())[:1000])
            raise OSError(28, "No space left on device")
        writing(path, buffer)

    monkeypatch.setattr(checkpoints, "_write", filling)
    full = call("train", *LISTS, "--out", "parts")
    assert full.exit_code == 1
    assert full.output.count("No space left on device") == 1
    assert "Failed: ListOps, none, seed 0: Cannot write" in full.output
    assert "Traceback" not in full.output + full.stderr
    monkeypatch.setattr(checkpoints, "_write", writing)
    (Path("parts") / FOLDER / checkpoints.LAST).write_bytes(b"half of a")
    assert call("train", "--resume", "--out", "parts", "--no-figures").exit_code == 0
    assert torch.equal(weights("parts"), whole)


@pytest.mark.parametrize("words", [("--resume",), (*LISTS, "--overwrite")])
def test_a_folder_in_use_is_refused_and_untouched(call, whole, words):
    before = {path: path.read_bytes() for path in Path("whole").rglob("*") if path.is_file()}
    with sole_use(Path("whole")):
        result = call("train", *words, "--out", "whole")
    assert result.exit_code == 2
    assert "another one is at work in 'whole'" in result.stderr
    assert {path: path.read_bytes() for path in before} == before


def test_a_second_training_in_the_same_folder_is_refused_while_the_first_runs(
    call, whole, at_step
):
    seen = []
    at_step(1, lambda: seen.append(call("train", "--resume", "--out", "run")))
    assert call("train", *LISTS, "--out", "run").exit_code == 0
    (second,) = seen
    assert second.exit_code == 2
    assert "needs its folder for itself" in second.stderr
    assert torch.equal(weights("run"), whole)


def test_a_second_training_is_refused_before_the_first_has_written_anything(
    call, whole, monkeypatch
):
    seen, facts = [], lra_run.task_facts

    def slow(*words):
        if not seen:
            seen.append(None)
            seen.append(call("train", *LISTS, "--out", "run"))
        return facts(*words)

    monkeypatch.setattr(lra_run, "task_facts", slow)
    assert call("train", *LISTS, "--out", "run").exit_code == 0
    assert seen[1].exit_code == 2
    assert "needs its folder for itself" in seen[1].stderr
    assert torch.equal(weights("run"), whole)


def test_a_folder_that_cannot_be_written_is_refused(call, monkeypatch):
    Path("run").mkdir()
    monkeypatch.setattr(os, "access", lambda path, how: not how & os.W_OK)
    result = call("train", *LISTS, "--out", "run")
    assert result.exit_code == 2
    assert "'run' is not writable. Choose another folder" in result.stderr
