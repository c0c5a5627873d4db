"""Frames on disk: what is written is read back, also by xarray and after a cut."""

import json
from pathlib import Path

import pytest
import torch
from torch import Tensor

from vlasov.errors import InvalidValue, RunFolderError, ShapeMismatch
from vlasov.experiments.trajectory_store import TrajectoryStore


@pytest.fixture
def store(tmp_path: Path) -> TrajectoryStore:
    return TrajectoryStore(tmp_path / "trajectory.zarr")


def frames(count: int, *shape: int, start: int = 0) -> list[Tensor]:
    generator = torch.Generator().manual_seed(start)
    return [torch.randn(shape, generator=generator, dtype=torch.float64) for _ in range(count)]


def test_frames_come_back_bit_for_bit(store: TrajectoryStore) -> None:
    first, second = frames(3, 5, 2), frames(4, 5, 2, start=1)
    store.append({"points": first})
    store.append({"points": second})
    assert torch.equal(store.read()["points"], torch.stack(first + second))


def test_frames_are_read_some_at_a_time(
    store: TrajectoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    points = frames(7, 40_000, 2)  # one chunk each
    store.append({"points": points})
    monkeypatch.setattr("vlasov.experiments.trajectory_layout._BYTES_AT_ONCE", 1_500_000)
    for count in (None, 6, 1):
        assert torch.equal(store.read(count)["points"], torch.stack(points[:count]))


def test_only_committed_frames_are_read(store: TrajectoryStore) -> None:
    points = frames(7, 5, 2)
    store.append({"points": points})
    assert torch.equal(store.read(4)["points"], torch.stack(points[:4]))


def test_xarray_opens_the_store_with_named_axes(store: TrajectoryStore) -> None:
    xarray = pytest.importorskip("xarray")
    times = [torch.tensor(float(i), dtype=torch.float64) for i in range(3)]
    store.append({"time": times, "points": frames(3, 4, 5, 2), "mean": frames(3, 4, 2)}, batch=1)
    store.put("log_weights", torch.zeros(4, 5), ("batch_0", "token"))
    with xarray.open_zarr(store.path) as data:
        assert data["points"].dims == ("frame", "batch_0", "token", "coordinate")
        assert data["mean"].dims == ("frame", "batch_0", "mean_0")
        assert data["log_weights"].dims == ("batch_0", "token")
        assert data["time"].values.tolist() == [0.0, 1.0, 2.0]


def test_a_cut_store_grows_again(store: TrajectoryStore) -> None:
    points = frames(6, 5, 2)
    store.append({"points": points})
    store.truncate(2)
    store.append({"points": points[2:4]})
    assert torch.equal(store.read()["points"], torch.stack(points[:4]))


def test_a_cut_beyond_the_end_is_refused(store: TrajectoryStore) -> None:
    store.append({"points": frames(2, 5, 2)})
    with pytest.raises(
        RunFolderError, match="holds 2 frames of points but the checkpoint counts 3"
    ):
        store.truncate(3)


def test_a_frame_beyond_the_chunk_size_is_cut_into_tiles(store: TrajectoryStore) -> None:
    wide = [torch.arange(2**21, dtype=torch.float64).reshape(2**18, 8)] * 5
    store.append({"points": wide})
    assert torch.equal(store.read()["points"][4], wide[0])
    huge = torch.zeros(2**24, dtype=torch.float64)
    store.put("log_weights", huge, ("token",))
    assert len(list((store.path / "log_weights").glob("[0-9]*"))) == 2


@pytest.mark.parametrize("dtype", [torch.int64, torch.bool, torch.float32])
def test_kinds_of_numbers_are_kept(store: TrajectoryStore, dtype: torch.dtype) -> None:
    store.append({"clusters": [torch.ones((), dtype=dtype)] * 3})
    assert store.read()["clusters"].dtype == dtype


def test_g13_bfloat16_is_stored_as_float32(store: TrajectoryStore) -> None:
    points = [x.bfloat16() for x in frames(2, 3, 2)]
    store.append({"points": points})
    assert torch.equal(store.read()["points"], torch.stack(points).float())


@pytest.mark.parametrize("split", [1, 2], ids=["within one append", "between two"])
def test_i10_ragged_frames_are_refused_and_never_pickled(
    store: TrajectoryStore, split: int
) -> None:
    ragged = [torch.zeros(2), torch.zeros(3)]
    if split == 2:
        store.append({"hull": [ragged.pop(0)]})
    with pytest.raises(ShapeMismatch, match=r"shape \(2,\) in one frame and \(3,\) in another"):
        store.append({"hull": ragged})


def test_names_of_spec_strings_are_kept(store: TrajectoryStore) -> None:
    store.append({"histogram:bins=4,low=-1": frames(2, 4)})
    assert list(store.read()) == ["histogram:bins=4,low=-1"]
    assert not any(set(path.name) & set(":=,") for path in store.path.iterdir())


def test_two_names_with_one_file_are_refused(store: TrajectoryStore) -> None:
    with pytest.raises(InvalidValue, match="'a:b' and 'a=b' would lie in the same file"):
        store.append({"a:b": frames(1), "a=b": frames(1)})


def test_a_missing_chunk_is_named(store: TrajectoryStore) -> None:
    store.append({"points": frames(3, 5, 2)})
    (store.path / "points" / "0.0.0").unlink()
    with pytest.raises(RunFolderError, match="points' lacks 1 of 1 chunk files"):
        store.read()


def test_a_damaged_chunk_is_refused(store: TrajectoryStore) -> None:
    store.append({"points": frames(3, 5, 2)})
    (store.path / "points" / "0.0.0").write_bytes(b"short")
    with pytest.raises(RunFolderError, match="cannot be read"):
        store.read()


def test_damaged_metadata_is_refused(store: TrajectoryStore) -> None:
    store.append({"points": frames(3, 5, 2)})
    (store.path / "points" / ".zarray").write_text("{")
    with pytest.raises(RunFolderError, match="cannot be read"):
        store.read()


def test_a_missing_store_is_refused(store: TrajectoryStore) -> None:
    with pytest.raises(RunFolderError, match="cannot be read"):
        store.read()


def test_g05_a_half_written_trajectory_keeps_its_published_frames(
    store: TrajectoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    import zarr

    xarray = pytest.importorskip("xarray")
    points = frames(5, 4, 2)
    store.append({"points": points[:3]})

    def killed(*args: object, **options: object) -> None:
        raise OSError("killed")

    monkeypatch.setattr(zarr, "consolidate_metadata", killed)
    with pytest.raises(RunFolderError, match="cannot be written"):
        store.append({"points": points[3:]})
    with xarray.open_zarr(store.path) as data:
        assert data.sizes["frame"] == 3
    assert torch.equal(store.read(3)["points"], torch.stack(points[:3]))


def test_metadata_is_strict_json(store: TrajectoryStore) -> None:
    store.append({"points": frames(1, 2, 2)})

    def refuse(name: str) -> None:
        raise AssertionError(name)

    for path in store.path.rglob(".z*"):
        json.loads(path.read_text(), parse_constant=refuse)
