"""Runs that were stopped, killed or damaged, against the run that was not."""

import os
import shutil
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from lra.small_runs import SMALL, curve, same_weights, splits

from vlasov.errors import RunFolderError
from vlasov.lra import checkpoints
from vlasov.lra.checkpoints import BEST, LAST, OLDER
from vlasov.lra.trainer import train
from vlasov.transformer import Diffusion, Diffusions

pytestmark = pytest.mark.usefixtures("plain_calls")

DIFFUSIONS = Diffusions(after_embedding=Diffusion(scales=(1,)))
SHORT = replace(SMALL, epochs=2)  # ten steps
DROPPING = replace(SHORT, dropout=0.3, precision="float32")


def run(folder, recipe=DROPPING, given=None, *, resume=False, **options):
    options = {"diffusions": DIFFUSIONS, "device": "cpu"} | options
    return train(recipe, given or splits(), folder=folder, resume=resume, **options)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A run that nobody stopped."""
    folder = tmp_path_factory.mktemp("whole") / "run"
    return folder, run(folder)


@pytest.fixture
def copy(whole, tmp_path):
    """A folder that may be damaged."""
    folder, _ = whole
    return shutil.copytree(folder, tmp_path / "copy")


def stopping(*steps, by=signal.SIGTERM):
    """A watcher that sends a signal at these steps."""
    return lambda report: os.kill(os.getpid(), by) if report.step in steps else None


def measured(result):
    """A result without its times."""
    return replace(result, seconds=0.0, step_seconds=0.0)


@pytest.mark.parametrize("step", [3, 5])  # within an epoch; behind its last step
def test_g14_a_stopped_run_saves_at_once_and_goes_on_bit_for_bit(whole, tmp_path, step):
    folder, result = whole
    stopped = run(tmp_path, watch=stopping(step))
    assert (stopped.status, stopped.steps, stopped.test_accuracy) == ("interrupted", step, None)
    assert torch.equal(curve(tmp_path), curve(folder)[:step])
    resumed = run(tmp_path, resume=True)
    assert measured(resumed) == measured(result)
    assert torch.equal(curve(tmp_path), curve(folder))
    assert same_weights(tmp_path, folder)


def test_a_run_stopped_before_its_test_still_takes_it(whole, tmp_path, monkeypatch):
    folder, result = whole
    end = []
    monkeypatch.setattr(
        "vlasov.lra.training.TrainingLog.epoch",
        lambda log, state: state.epoch == 2 and not end and (
            end.append(1), os.kill(os.getpid(), signal.SIGTERM)
        ),
    )  # fmt: skip
    assert run(tmp_path).status == "interrupted"
    assert measured(run(tmp_path, resume=True)) == measured(result)
    assert same_weights(tmp_path, folder)


def test_g14_a_handler_of_the_users_is_called_too_and_put_back(tmp_path):
    seen = []
    before = signal.signal(signal.SIGTERM, lambda number, frame: seen.append(number))
    try:
        assert run(tmp_path, watch=stopping(2)).status == "interrupted"
        assert seen == [signal.SIGTERM]
        os.kill(os.getpid(), signal.SIGTERM)
        assert len(seen) == 2
    finally:
        signal.signal(signal.SIGTERM, before)


def test_a_finished_run_is_read_and_not_trained_again(copy, whole):
    def never(report):
        raise AssertionError(report)

    assert run(copy, resume=True, watch=never) == whole[1]


def test_resuming_where_nothing_began_begins(whole, tmp_path):
    assert measured(run(tmp_path, resume=True)) == measured(whole[1])


def test_every_checkpoint_loads_with_weights_only(whole):
    for name in (LAST, OLDER, BEST):
        found = torch.load(whole[0] / name, weights_only=True)
        assert found["identity"]["task"] == "listops"


def truncated(path):
    path.write_bytes(path.read_bytes()[:-100])


def flipped(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 255
    path.write_bytes(content)


def emptied(path):
    path.write_bytes(b"")


@pytest.mark.parametrize("damage", [truncated, flipped, emptied, os.remove])
def test_g05_a_damaged_checkpoint_gives_way_to_the_older_one(copy, whole, damage):
    (copy / "result.json").unlink()
    damage(copy / LAST)
    assert measured(run(copy, resume=True)) == measured(whole[1])
    assert same_weights(copy, whole[0])


def test_two_damaged_checkpoints_are_refused(copy):
    truncated(copy / LAST)
    truncated(copy / OLDER)
    with pytest.raises(RunFolderError, match=r"needs one whole checkpoint but .* has none that"):
        run(copy, resume=True)


def test_a_stray_temporary_file_is_ignored(copy, whole):
    (copy / f".{LAST}.tmp").write_bytes(b"half of a")
    assert run(copy, resume=True) == whole[1]


def test_g05_a_save_that_fails_leaves_the_one_before(tmp_path, monkeypatch, whole):
    run(tmp_path, watch=stopping(3))
    writing = checkpoints._write

    def breaking(path, buffer):
        writing(path, buffer)
        truncated(path)
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(checkpoints, "_write", breaking)
    with pytest.raises(RunFolderError, match="No space left"):
        run(tmp_path, resume=True)
    monkeypatch.undo()
    assert measured(run(tmp_path, resume=True)) == measured(whole[1])
    assert same_weights(tmp_path, whole[0])


@pytest.mark.parametrize(
    ("change", "phrase"),
    [
        (
            {"recipe": replace(DROPPING, learning_rate=1e-4)},
            "learning_rate is 0.0001 and was 0.001",
        ),
        ({"recipe": replace(DROPPING, epochs=5)}, "epochs is 5 and was 2"),
        ({"seed": 1}, "seed is 1 and was 0"),
        ({"diffusions": None}, "diffusions is 'none' and was 'after-embedding:1'"),
        ({"given": splits(seed=1)}, "data is"),
    ],
)
def test_a_folder_of_another_run_is_refused(whole, change, phrase):
    # G08: no other learning rate can be slipped in, so none is ignored either
    with pytest.raises(RunFolderError, match=phrase):
        run(whole[0], resume=True, **change)


def test_checkpoints_come_by_time_within_an_epoch(tmp_path):
    seen = []
    run(
        tmp_path,
        checkpoint_seconds=0.0,
        watch=lambda report: seen.append((tmp_path / LAST).exists()),
    )
    # nothing is there in the first step, and from the second on something is
    assert seen == [False, *[True] * 9]


def dying(kind, moment, folder):
    """Go on with a run until it is killed, at that step or in the middle of that write to disk."""
    calls = {"save": 0, "step": 0}
    sync = os.fsync

    def is_now(name):
        calls[name] += 1
        return name == kind and calls[name] == moment

    def fsync(number):
        if is_now("save"):
            os.truncate(number, os.fstat(number).st_size // 2)
            os.kill(os.getpid(), signal.SIGKILL)
        sync(number)

    def watch(report):
        if is_now("step"):
            os.kill(os.getpid(), signal.SIGKILL)

    os.fsync = fsync
    run(folder, resume=True, checkpoint_seconds=0.0, watch=watch)


_PROCESS = """
import sys
from pathlib import Path
import torch
kind, moment, folder, tests = sys.argv[1:]
torch.set_num_threads(1)
sys.path.insert(0, tests)
from lra.test_resume import dying
dying(kind, int(moment), Path(folder))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_kill_within_a_save_loses_nothing(whole, tmp_path):
    child = os.fork()
    if child == 0:
        try:
            dying("save", 5, tmp_path)
        finally:
            os._exit(1)
    assert os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGKILL
    assert (tmp_path / f".{LAST}.tmp").exists()
    assert measured(run(tmp_path, resume=True)) == measured(whole[1])
    assert same_weights(tmp_path, whole[0])


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_a_run_killed_at_five_random_moments_ends_with_the_same_weights(whole, tmp_path, seed):
    generator = np.random.default_rng(seed)
    tests = str(Path(__file__).parents[1])
    for _ in range(5):
        moment = [generator.choice(["save", "step"]), str(generator.integers(1, 4))]
        command = [sys.executable, "-c", _PROCESS, *moment, str(tmp_path / "run"), tests]
        found = subprocess.run(command, capture_output=True, text=True, check=False)
        assert found.returncode == -signal.SIGKILL, found.stderr
    assert measured(run(tmp_path / "run", resume=True)) == measured(whole[1])
    assert same_weights(tmp_path / "run", whole[0])
