"""A run folder read back, whole or damaged."""

from pathlib import Path

import pytest
import torch
from recorded import started, tell

from vlasov.cloud import Cloud
from vlasov.errors import RunFolderError
from vlasov.experiments.folder_store import RunFolder
from vlasov.experiments.load import load_run
from vlasov.experiments.record import result_of
from vlasov.run import EventRecord, Run


def test_a_run_comes_back_whole(tmp_path: Path) -> None:
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(2, 3, 2, generator=generator, dtype=torch.float64).bfloat16()
    cloud = Cloud(x, positions=[0.0, 1.0, 1.0])
    monitor = started(tmp_path, cloud)
    monitor.frame(0.0, x, {"clusters": torch.tensor([3, 2])}, None)
    monitor.close()
    run = Run(
        times=torch.zeros(1, dtype=torch.float64),
        points=x[None],
        point_times=torch.zeros(1, dtype=torch.float64),
        log_weights=cloud.log_weights,
        positions=cloud.positions,
        status="blow-up",
        message="The state grew without bound.",
        stopped_at=0.5,
        observables={"clusters": torch.tensor([[3, 2]])},
        events=(EventRecord("merge", 0.25, (1,)),),
        steps=7,
        facts={"beta": 1.0, "mask": None},
        member_status=("blow-up", "finished"),
        member_stopped_at=(0.5, float("inf")),
    )
    RunFolder(tmp_path).write_result(result_of(run))
    back = load_run(tmp_path)
    tensors = {"times", "points", "point_times", "log_weights", "positions", "observables"}
    for name, value in vars(run).items():
        if name not in tensors:
            assert getattr(back, name) == value, name
    assert torch.equal(back.points, x[None])
    assert back.positions is not None
    assert torch.equal(back.positions, cloud.positions)
    assert back.observables["clusters"].dtype == torch.int64


@pytest.mark.parametrize("name", ["result.json", "trajectory.zarr/time/.zarray"])
def test_a_damaged_folder_is_refused_by_file(tmp_path: Path, cloud: Cloud, name: str) -> None:
    monitor = started(tmp_path, cloud)
    tell(monitor, cloud, range(2))
    monitor.close()
    (tmp_path / name).write_text("{")
    with pytest.raises(RunFolderError, match="cannot be read"):
        load_run(tmp_path)


def test_an_unknown_number_format_is_refused(tmp_path: Path, cloud: Cloud) -> None:
    monitor = started(tmp_path, cloud)
    tell(monitor, cloud, range(2))
    monitor.close()
    folder = RunFolder(tmp_path)
    folder.write_provenance(folder.provenance() | {"dtype": "float8"})
    with pytest.raises(RunFolderError, match="lacks 'float8'"):
        load_run(tmp_path)


def test_a_result_without_its_entries_is_refused(tmp_path: Path, cloud: Cloud) -> None:
    monitor = started(tmp_path, cloud)
    tell(monitor, cloud, range(2))
    monitor.close()
    RunFolder(tmp_path).write_result({"status": "finished", "frames": 2})
    with pytest.raises(RunFolderError, match="lacks 'message'"):
        load_run(tmp_path)
