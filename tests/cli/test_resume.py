"""Runs that are killed or interrupted and go on, bit for bit."""

import signal
import time
from pathlib import Path

import pytest
import torch

import vlasov as vl
from vlasov.experiments.folder_store import RunFolder

LONG = ("--n", 500, "--time", 4000, "--step", 0.01, "--save-every", 4, "--observe", "mean")
"""Too long to end by itself, with so many tokens that few steps fill the time to a kill."""


def same(run: vl.Run, reference: vl.Run) -> None:
    """The frames of `run` are the first of the reference, bit for bit."""
    count = len(run.times)
    assert torch.equal(run.times, reference.times[:count])
    assert torch.equal(run.points, reference.points[:count])
    assert torch.equal(run.observables["mean"], reference.observables["mean"][:count])


def wait_for(path: Path, process) -> None:
    limit = time.monotonic() + 60
    while not path.exists():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < limit
        time.sleep(0.05)


def test_limits_stop_a_run_and_resume_finishes_it(small) -> None:
    words = ("--time", "2", "--save-every", "2")
    assert small("--out", "whole", *words).exit_code == 0
    # the limit falls between two frames: the one it adds is not kept when the run goes on
    assert small("--out", "parts", *words, "--max-steps", 5).exit_code == 0
    short = vl.load_run("parts")
    assert short.status == "max-steps"
    assert short.times.tolist() == pytest.approx([0.0, 0.2, 0.4, 0.5])
    result = small("--out", "parts", *words, "--max-steps", 100, "--resume")
    assert result.exit_code == 0, result.stderr
    whole, parts = vl.load_run("whole"), vl.load_run("parts")
    assert parts.status == "finished"
    same(parts, whole)
    assert len(parts.times) == len(whole.times)
    assert (parts.steps, parts.evaluations) == (whole.steps, whole.evaluations)
    assert RunFolder.open("parts").provenance()["resumed"] == 1


@pytest.mark.parametrize(
    "words",
    [
        "--noise independent:diffusion=0.1 --integrator euler",
        "--step adaptive --rtol 1e-4 --frames 9",
        "--redraw 0.3",
        "--terms momentum:damping=1",
        "--keep last",
    ],
)
def test_every_kind_of_run_goes_on_bit_for_bit(small, call, words: str) -> None:
    cadence = () if "--frames" in words else ("--save-every", "2")
    options = (*words.split(), "--time", "2", *cadence, "--observe", "mean")
    assert small("--out", "whole", *options).exit_code == 0
    assert small("--out", "parts", *options, "--max-steps", 4).exit_code == 0
    result = call("simulate", "--out", "parts", "--max-steps", 1000, "--resume", "--no-figures")
    assert result.exit_code == 0, result.stderr
    same(vl.load_run("parts"), vl.load_run("whole"))


def test_a_finished_run_is_not_run_again(small) -> None:
    assert small("--out", "run").exit_code == 0
    before = (Path("run") / "result.json").stat().st_mtime_ns
    assert small("--out", "run", "--resume").exit_code == 0
    assert (Path("run") / "result.json").stat().st_mtime_ns == before


def test_another_equation_is_refused_on_resume(small) -> None:
    assert small("--out", "run", "--max-steps", 2).exit_code == 0
    result = small("--out", "run", "--resume", "--beta", 2)
    assert result.exit_code == 2
    assert "started with beta 9.0 but 2.0 is asked for" in result.stderr


def test_resume_and_overwrite_exclude_each_other(small) -> None:
    assert small("--out", "run", "--resume", "--overwrite").exit_code == 2


def test_g05_a_killed_run_goes_on_bit_for_bit(process, call, tmp_path: Path) -> None:
    run = process("simulate", *LONG, "--no-figures", "--out", "run")
    wait_for(tmp_path / "run" / "checkpoint.pt", run)
    time.sleep(0.3)
    run.kill()
    run.communicate()
    killed = vl.load_run("run")
    assert killed.status == "unfinished"
    more = round(float(killed.times[-1]) / 0.01) + 12
    words = ("--resume", "--max-steps", more, "--no-figures")
    assert call("simulate", "--out", "run", *words).exit_code == 0
    assert call("simulate", *LONG, "--out", "whole", *words[1:]).exit_code == 0
    resumed = vl.load_run("run")
    assert len(resumed.times) == len(killed.times) + 3
    same(resumed, vl.load_run("whole"))


@pytest.mark.parametrize(
    ("number", "status"),
    [pytest.param(signal.SIGTERM, 143, marks=pytest.mark.slow), (signal.SIGINT, 130)],
)
def test_g14_a_signal_saves_the_run_and_ends_it(
    process, tmp_path: Path, number: int, status: int
) -> None:
    # no frame is due, and pictures are left for later
    run = process("simulate", *LONG, "--save-every", 1_000_000, "--out", "run")
    wait_for(tmp_path / "run" / "trajectory.zarr" / ".zmetadata", run)
    time.sleep(0.5)
    run.send_signal(number)
    out, err = run.communicate(timeout=30)
    assert run.returncode == status, err
    assert "interrupted" in out
    folder = RunFolder.open(tmp_path / "run")
    checkpoint = folder.checkpoint()
    assert checkpoint is not None
    assert checkpoint.state["t"] == pytest.approx(folder.result()["stopped_at"])
    assert checkpoint.state["t"] >= 0  # the first step itself is given up where it takes a second
    assert not (tmp_path / "run" / "summary.png").exists()
