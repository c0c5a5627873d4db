"""How far a run is, on a terminal and in a log file."""

import io

import pytest
from rich.console import Console

from cli import progress as module
from cli.progress import follow

STEPS = 10_000


def test_i05_ten_thousand_steps_stay_below_200_lines(capsys: pytest.CaptureFixture[str]) -> None:
    with follow("Simulating", 1.0) as tick:
        for k in range(1, STEPS + 1):
            tick(k / STEPS)
    err = capsys.readouterr().err
    assert "\r" not in err
    assert "\x1b" not in err
    assert 1 < len(err.splitlines()) < 200
    assert err.splitlines()[-1].startswith("Simulating: 100 %")


def test_a_terminal_shows_the_time_left(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = io.StringIO()
    monkeypatch.setattr(
        module, "Console", lambda **_: Console(file=screen, force_terminal=True, width=100)
    )
    with follow("Simulating", 2.0) as tick:
        tick(1.0)
    assert "Simulating" in screen.getvalue()
    assert "left" in screen.getvalue()
    assert "50%" in screen.getvalue()


class Clock:
    """Seconds that pass only when told."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now


def test_the_time_left_counts_down_while_a_step_takes_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    screen, ticks = io.StringIO(), Clock()
    monkeypatch.setattr(module.clock, "monotonic", ticks.monotonic)
    bar = module._bar(Console(file=screen, force_terminal=True, width=100))
    bar.get_time = ticks.monotonic
    pace, column = module._Pace(0.0, 10.0), bar.columns[-1]
    bar.add_task("Simulating", total=10.0, ends=None)
    (task,) = bar.tasks
    assert str(column.render(task)) == "-:--:--"
    ticks.now = 60.0  # the first of ten equal steps
    bar.update(task.id, completed=1.0, ends=pace.ends(1.0))
    assert str(column.render(task)) == "0:09:00"
    ticks.now = 100.0
    assert str(column.render(task)) == "0:08:20"


def test_a_resumed_run_is_judged_by_what_it_did_itself(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ticks = Clock()
    monkeypatch.setattr(module.clock, "monotonic", ticks.monotonic)
    with follow("Simulating", 10.0, begin=8.0) as tick:
        ticks.now = 30.0
        tick(9.0)
    assert capsys.readouterr().err == "Simulating: 90 %, 30.0 s spent, 30.0 s left\n"


def test_a_run_of_no_length_has_no_time_left(capsys: pytest.CaptureFixture[str]) -> None:
    with follow("Simulating", 0.0) as tick:
        tick(0.0)
    assert "100 %" in capsys.readouterr().err


def test_quiet_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with follow("Simulating", 1.0, quiet=True) as tick:
        tick(1.0)
    assert capsys.readouterr().err == ""
