"""The command line, called inside the test or as a process of its own; its runs are long."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from cli.main import cli

ROOT = Path(__file__).parents[2]
SMALL = ("--n", "8", "--time", "0.4", "--step", "0.1", "--no-figures")

Call = Callable[..., Result]
Process = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture(autouse=True)
def _long_run(unchecked_types: None) -> None: ...


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Call:
    """Call `vlasov` in an empty folder."""
    monkeypatch.chdir(tmp_path)

    def invoke(*words: object) -> Result:
        return CliRunner().invoke(cli, [str(word) for word in words])

    return invoke


@pytest.fixture
def small(call: Call) -> Call:
    """Call `vlasov simulate` with few tokens and steps and no pictures."""
    return lambda *words: call("simulate", *SMALL, *words)


@pytest.fixture
def process(tmp_path: Path) -> Process:
    """Start `vlasov` as a process in an empty folder."""

    def start(*words: object) -> "subprocess.Popen[str]":
        outer = signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored is inherited
        try:
            return _started(words, tmp_path)
        finally:
            signal.signal(signal.SIGINT, outer)

    return start


def _started(words: tuple[object, ...], folder: Path) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-m", "cli", *map(str, words)],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
