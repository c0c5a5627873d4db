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


def test_a_run_of_no_length_has_no_time_left(capsys: pytest.CaptureFixture[str]) -> None:
    with follow("Simulating", 0.0) as tick:
        tick(0.0)
    assert "100 %" in capsys.readouterr().err


def test_quiet_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with follow("Simulating", 1.0, quiet=True) as tick:
        tick(1.0)
    assert capsys.readouterr().err == ""
