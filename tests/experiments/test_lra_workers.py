"""Runs one after the other and at the same time: what fails, what is told, what stops them."""

import os
import time
from dataclasses import dataclass

import pytest

from vlasov.errors import InvalidValue, MissingExtra
from vlasov.experiments.lra_workers import in_processes, in_turn
from vlasov.experiments.monitor import Watch


def works(*done):
    """Runs that tell their half and then do what is given."""

    def make(do):
        def work(tell, worker):
            tell(0.5)
            do()

        return work

    return [make(do) for do in done]


def fail(error):
    raise error


def test_a_failure_is_its_sentence_and_the_others_are_done():
    done, told = [], []
    failures = in_turn(
        works(
            lambda: done.append(0),
            lambda: fail(InvalidValue("No room. Make some.")),
            lambda: fail(RuntimeError("first\nsecond")),
            lambda: done.append(3),
        ),
        Watch(progress=told.append),
    )
    assert failures == {1: "No room. Make some.", 2: "RuntimeError: first second"}
    assert done == [0, 3]
    assert told == [1 / 8, 1 / 4, 3 / 8, 1 / 2, 5 / 8, 3 / 4, 7 / 8, 1.0]


def test_a_missing_package_stops_all_and_so_does_a_bug():
    for error in (MissingExtra("Install it."), KeyError("a bug")):
        with pytest.raises(type(error)):
            in_turn(works(lambda error=error: fail(error)), Watch())


def test_a_signal_stops_before_the_next_run():
    done = []
    asked = Watch(interrupted=lambda: len(done) == 2)
    assert in_turn(works(*[lambda: done.append(0)] * 5), asked) == {}
    assert len(done) == 2


@dataclass(frozen=True)
class Sleeper:
    """Tells its half, writes a file, and sleeps, fails or dies."""

    folder: str
    number: int
    seconds: float = 0.0
    status: int | None = None

    def __call__(self, tell, worker):
        tell(0.5)
        with open(f"{self.folder}/{self.number}", "w") as file:
            file.write(str(worker))
        if self.status is not None:
            os._exit(self.status)
        if self.seconds < 0:
            raise InvalidValue("Time runs forwards. Wait.")
        time.sleep(self.seconds)


@pytest.mark.slow
def test_processes_report_fail_and_die_by_themselves(importable, tmp_path):
    told = []
    jobs = [importable(str(tmp_path), 0), importable(str(tmp_path), 1, -1.0),
            importable(str(tmp_path), 2, 0.0, 7), importable(str(tmp_path), 3)]  # fmt: skip
    failures = in_processes(jobs, 2, Watch(progress=told.append))
    assert failures[1] == "Time runs forwards. Wait."
    assert "ended with status 7 before the run did" in failures[2]
    assert set(failures) == {1, 2}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["0", "1", "2", "3"]
    assert {path.read_text() for path in tmp_path.iterdir()} == {"0", "1"}
    assert told == sorted(told)
    assert told[-1] == 1.0


@pytest.mark.slow
def test_a_signal_ends_the_processes_and_starts_no_more(importable, tmp_path):
    def asked():
        return (tmp_path / "0").exists()

    start = time.monotonic()
    jobs = [importable(str(tmp_path), number, 100.0) for number in range(3)]
    assert in_processes(jobs, 1, Watch(interrupted=asked)) == {}
    assert time.monotonic() - start < 60
    assert [path.name for path in tmp_path.iterdir()] == ["0"]


@pytest.fixture
def importable(tmp_path_factory, monkeypatch):
    """`Sleeper` of a module that a new process can import."""
    folder = tmp_path_factory.mktemp("modules")
    text = "import os, time\nfrom dataclasses import dataclass\n"
    text += "from vlasov.errors import InvalidValue\n\n"
    import importlib
    import inspect

    (folder / "sleeper_of_tests.py").write_text(text + inspect.getsource(Sleeper))
    monkeypatch.syspath_prepend(str(folder))
    return importlib.import_module("sleeper_of_tests").Sleeper
