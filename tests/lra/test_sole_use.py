"""Two trainings in one folder: the second is refused before it touches anything."""

import subprocess
import sys
import threading
import time

import pytest
from lra.small_runs import SMALL, splits

from vlasov.errors import RunFolderError
from vlasov.lra import sole_use as module
from vlasov.lra import trainer
from vlasov.lra.sole_use import sole_use
from vlasov.lra.trainer import train

pytestmark = [
    pytest.mark.usefixtures("plain_calls"),
    pytest.mark.skipif(not module._LOCKS, reason="no locks on this system"),
]

_OTHER = """
import fcntl, os, sys
number = os.open(sys.argv[1], os.O_RDONLY)
fcntl.flock(number, fcntl.LOCK_EX)
print("locked", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def other(tmp_path):
    """Another process at work in a folder."""
    command = [sys.executable, "-c", _OTHER, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"locked\n"
        yield process
        process.kill()


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    """No waiting."""
    monkeypatch.setattr(trainer, "_PATIENCE", 0.0)


def test_what_soon_ends_is_waited_for(other, tmp_path):
    threading.Timer(0.3, other.kill).start()
    begun = time.monotonic()
    with sole_use(tmp_path, patience=60.0):
        assert time.monotonic() - begun > 0.2


def test_a_folder_in_use_is_refused_until_its_process_has_ended(other, tmp_path):
    with pytest.raises(RunFolderError, match="another one is at work in"):
        train(SMALL, splits(), folder=tmp_path)
    assert list(tmp_path.iterdir()) == []
    other.kill()
    other.wait()
    with sole_use(tmp_path):
        pass


def test_a_training_has_its_folder_for_itself(tmp_path):
    def again(report):
        if report.step == 2:
            with pytest.raises(RunFolderError, match="for itself"):
                train(SMALL, splits(), folder=tmp_path, resume=True)

    assert train(SMALL, splits(), folder=tmp_path, watch=again).status == "finished"
    with sole_use(tmp_path):  # free again
        pass


@pytest.mark.parametrize("change", ["no locks", "a disk without them"])
def test_without_locks_nothing_is_refused(other, tmp_path, monkeypatch, change):
    import fcntl

    def unsupported(number, how):
        raise OSError(95, "Operation not supported")

    if change == "no locks":
        monkeypatch.setattr(module, "_LOCKS", False)
    else:
        monkeypatch.setattr(fcntl, "flock", unsupported)
    with sole_use(tmp_path):
        pass
