"""What a run leaves on disk while it runs, whatever ends it."""

from pathlib import Path

import pytest
import torch
from recorded import started, tell

from vlasov.cloud import Cloud
from vlasov.errors import InvalidValue, RunFolderError
from vlasov.experiments import monitor as module
from vlasov.experiments.folder_store import RunFolder
from vlasov.experiments.load import load_run
from vlasov.experiments.monitor import FolderMonitor, Watch


class Clock:
    """Seconds that pass only when told."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def ticks(monkeypatch: pytest.MonkeyPatch) -> Clock:
    ticks = Clock()
    monkeypatch.setattr(module.clock, "monotonic", ticks.monotonic)
    return ticks


def test_nothing_is_written_before_the_first_frame(tmp_path: Path, cloud: Cloud) -> None:
    monitor = started(tmp_path, cloud)
    monitor.close()
    assert not monitor.started
    assert not list(tmp_path.iterdir())


def test_a_closed_monitor_has_written_every_frame(tmp_path: Path, cloud: Cloud) -> None:
    monitor = started(tmp_path, cloud)
    tell(monitor, cloud, range(5))
    monitor.close()
    run = load_run(tmp_path)
    assert run.status == "unfinished"
    assert run.times.tolist() == [0.0, 1.0, 2.0, 3.0, 4.0]
    assert torch.equal(run.points[4], 16 * cloud.points)
    assert torch.equal(run.observables["mean"][4], 16 * cloud.points.mean(-2))
    assert run.error is not None
    assert run.error.tolist() == [0.0, 0.5, 1.0, 1.5, 2.0]


def test_a_kill_leaves_the_frames_up_to_the_last_checkpoint(
    tmp_path: Path, cloud: Cloud, ticks: Clock
) -> None:
    monitor = started(tmp_path, cloud)
    tell(monitor, cloud, range(2))
    assert not (tmp_path / "checkpoint.pt").exists()
    with pytest.raises(RunFolderError, match="killed before its first checkpoint"):
        load_run(tmp_path)
    ticks.now = 3.0
    tell(monitor, cloud, range(2, 4))  # a checkpoint at 2, none at 3, and no close
    run = load_run(tmp_path)
    assert run.times.tolist() == [0.0, 1.0, 2.0]
    assert "Go on with --resume" in run.message


def test_a_large_checkpoint_is_written_less_often(
    tmp_path: Path, cloud: Cloud, ticks: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    size = cloud.points.nelement() * cloud.points.element_size()
    monkeypatch.setattr(module, "_RATE", size / 10.0)  # bytes a second: ten seconds for each
    monitor = started(tmp_path, cloud)
    for k, now in enumerate((0.0, 9.0, 11.0)):
        ticks.now = now
        tell(monitor, cloud, range(k, k + 1))
        assert (tmp_path / "checkpoint.pt").exists() == (now > 10.0)


def test_a_resumed_monitor_drops_frames_beyond_the_checkpoint(
    tmp_path: Path, cloud: Cloud, ticks: Clock
) -> None:
    monitor = started(tmp_path, cloud)
    tell(monitor, cloud, range(2))
    ticks.now = 3.0
    tell(monitor, cloud, range(2, 3))
    monkey = torch.full_like(cloud.points, -1.0)
    monitor.frame(3.0, monkey, {"mean": monkey.mean(-2)}, None)
    ticks.now = 6.0
    monitor.frame(4.0, monkey, {"mean": monkey.mean(-2)}, None)  # flushed, then killed
    folder = RunFolder.open(tmp_path)
    checkpoint = folder.checkpoint()
    assert checkpoint is not None
    assert (checkpoint.frames, checkpoint.state["t"]) == (3, 2.0)
    again = FolderMonitor(folder, cloud, resumed=checkpoint)
    tell(again, cloud, range(3, 5))
    again.close()
    assert torch.equal(load_run(tmp_path).points[4], 16 * cloud.points)


def test_b12_the_last_state_only_leaves_one_frame_of_points(tmp_path: Path, cloud: Cloud) -> None:
    monitor = started(tmp_path, cloud, keep="last")
    tell(monitor, cloud, range(5))
    monitor.close()
    run = load_run(tmp_path)
    assert run.points.shape == (1, 4, 2)
    assert run.point_times.tolist() == [4.0]
    assert run.observables["mean"].shape == (5, 2)
    assert torch.equal(run.final.points, 16 * cloud.points)


def test_a_killed_run_of_last_states_shows_that_of_its_checkpoint(
    tmp_path: Path, cloud: Cloud, ticks: Clock
) -> None:
    monitor = started(tmp_path, cloud, keep="last")
    tell(monitor, cloud, range(2))
    ticks.now = 3.0
    tell(monitor, cloud, range(2, 4))
    run = load_run(tmp_path)
    assert run.point_times.tolist() == [2.0]
    assert torch.equal(run.final.points, 4 * cloud.points)


def test_frames_in_memory_are_few(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_BUFFER_BYTES", 100)
    cloud = Cloud(torch.zeros(4, 2, dtype=torch.float64))
    monitor = started(tmp_path, cloud)
    tell(monitor, cloud, range(3))
    assert len(RunFolder(tmp_path).frames.read()["time"]) >= 2


def test_a_frame_is_a_copy(tmp_path: Path, cloud: Cloud) -> None:
    monitor = started(tmp_path, cloud)
    x = cloud.points.clone()
    monitor.frame(0.0, x, {}, None)
    monitor.checkpoint({})
    x.zero_()
    monitor.close()
    assert torch.equal(load_run(tmp_path).points[0], cloud.points)


def test_steps_are_passed_on_until_someone_interrupts(tmp_path: Path, cloud: Cloud) -> None:
    seen: list[float] = []
    watch = Watch(progress=seen.append, interrupted=lambda: len(seen) > 1)
    monitor = started(tmp_path, cloud, watch=watch)
    assert [monitor.step(t) for t in (0.1, 0.2)] == [True, False]
    assert seen == [0.1, 0.2]


def test_a_name_of_the_folder_is_refused_for_an_observable(tmp_path: Path, cloud: Cloud) -> None:
    monitor = started(tmp_path, cloud)
    with pytest.raises(InvalidValue, match="cannot be called 'time'"):
        monitor.frame(0.0, cloud.points, {"time": torch.zeros(())}, None)
