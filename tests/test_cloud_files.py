import os

import numpy as np
import pytest
import torch
from torch.testing import assert_close

from vlasov.cloud import Cloud
from vlasov.errors import (
    InvalidValue,
    NotFinite,
    RunFolderError,
    ShapeMismatch,
    UnknownName,
)

SUFFIXES = [".npy", ".npz", ".csv", ".pt", ".safetensors"]
NAMED = [".npz", ".csv", ".pt", ".safetensors"]
EPS = torch.finfo(torch.float64).eps
every_format = pytest.mark.parametrize("suffix", SUFFIXES)
every_named_format = pytest.mark.parametrize("suffix", NAMED)


@pytest.fixture
def cloud() -> Cloud:
    return Cloud.gaussian(7, d=3, seed=4)


@pytest.fixture
def weighted(cloud) -> Cloud:
    weights = torch.arange(1.0, 8.0, dtype=torch.float64) / 28
    return Cloud(cloud.points, weights, torch.arange(7).flip(0))


@every_format
def test_points_read_back_as_they_were(suffix, cloud, tmp_path):
    read = Cloud.load(cloud.save(tmp_path / f"cloud{suffix}"))
    assert torch.equal(read.points, cloud.points)
    assert torch.equal(read.log_weights, cloud.log_weights)
    assert read.positions is None


@every_named_format
def test_weights_and_positions_read_back(suffix, weighted, tmp_path):
    read = Cloud.load(weighted.save(tmp_path / f"cloud{suffix}"))
    assert torch.equal(read.points, weighted.points)
    assert torch.equal(read.positions, weighted.positions)
    # one exponential, one sum and one logarithm
    assert_close(read.log_weights, weighted.log_weights, atol=20 * EPS, rtol=20 * EPS)


@every_format
def test_a_cloud_that_requires_gradients_is_saved(suffix, cloud, tmp_path):
    saved = Cloud(cloud.points.clone().requires_grad_()).save(tmp_path / f"cloud{suffix}")
    assert not Cloud.load(saved).points.requires_grad


@every_format
def test_g13_bfloat16_is_saved_and_read(suffix, cloud, tmp_path):
    half = cloud.to(dtype=torch.bfloat16)
    read = Cloud.load(half.save(tmp_path / f"cloud{suffix}"))
    kept = {".npy": torch.float32, ".npz": torch.float32, ".csv": torch.float64}
    assert read.points.dtype == kept.get(suffix, torch.bfloat16)
    assert torch.equal(read.points.double(), half.points.double())


@every_format
@pytest.mark.parametrize("stem", ["run.v1", "a b", ".hidden"])
def test_i10_the_file_has_exactly_the_name_given(suffix, stem, cloud, tmp_path):
    path = tmp_path / f"{stem}{suffix}"
    assert cloud.save(path) == path
    assert os.listdir(tmp_path) == [path.name]


@pytest.mark.parametrize("name", ["run.v1", "run", "run.NPZ"])
def test_i10_a_suffix_without_a_format_is_refused_and_never_completed(name, cloud, tmp_path):
    with pytest.raises(UnknownName, match=r"suffix of a cloud file .*Known: .csv, .npy, .npz"):
        cloud.save(tmp_path / name)
    assert os.listdir(tmp_path) == []
    with pytest.raises(UnknownName, match="suffix of a cloud file"):
        Cloud.load(tmp_path / name)


@pytest.mark.parametrize("suffix", [".npy", ".npz"])
def test_i10_arrays_of_objects_are_refused(suffix, tmp_path):
    path = tmp_path / f"ragged{suffix}"
    ragged = np.empty(2, dtype=object)
    ragged[:] = [[1.0], [1.0, 2.0]]
    if suffix == ".npy":
        np.save(path, ragged, allow_pickle=True)
    else:
        np.savez(path, points=ragged)
    with pytest.raises(InvalidValue, match=r"lists of unequal lengths. Save plain arrays"):
        Cloud.load(path)


@pytest.mark.parametrize("content", [{"points": print}, [np.zeros(2)]])
def test_i10_pickled_objects_are_not_run(content, tmp_path):
    torch.save(content, tmp_path / "cloud.pt")
    with pytest.raises(InvalidValue, match=r"UnpicklingError.*holds Python objects"):
        Cloud.load(tmp_path / "cloud.pt")


@every_format
def test_a_batch_is_saved_where_the_format_allows_it(suffix, tmp_path):
    batch = Cloud(torch.arange(12.0).reshape(2, 3, 2))
    if suffix == ".csv":
        with pytest.raises(ShapeMismatch, match="one cloud"):
            batch.save(tmp_path / "cloud.csv")
    else:
        read = Cloud.load(batch.save(tmp_path / f"cloud{suffix}"))
        assert torch.equal(read.points, batch.points)


def test_weights_are_not_lost_in_npy(weighted, tmp_path):
    with pytest.raises(
        InvalidValue, match=r"the cloud has weights and positions. Save it as .npz"
    ):
        weighted.save(tmp_path / "cloud.npy")
    assert os.listdir(tmp_path) == []


def test_a_failed_save_leaves_the_old_file(cloud, weighted, tmp_path):
    path = cloud.save(tmp_path / "cloud.npy")
    with pytest.raises(InvalidValue):
        weighted.save(path)
    assert torch.equal(Cloud.load(path).points, cloud.points)
    assert os.listdir(tmp_path) == ["cloud.npy"]


@pytest.mark.parametrize("where", ["missing/cloud.npz", "file/cloud.npz", "folder.npz"])
def test_a_path_that_cannot_be_written_is_named(where, cloud, tmp_path):
    (tmp_path / "file").touch()
    (tmp_path / "folder.npz").mkdir()
    with pytest.raises(RunFolderError, match=r"Cannot write '.*npz'"):
        cloud.save(tmp_path / where)
    assert sorted(os.listdir(tmp_path)) == ["file", "folder.npz"]


@every_format
def test_a_missing_or_empty_file_is_named(suffix, tmp_path):
    with pytest.raises(InvalidValue, match="does not exist"):
        Cloud.load(tmp_path / f"none{suffix}")
    (tmp_path / f"empty{suffix}").touch()
    with pytest.raises(InvalidValue, match="is empty"):
        Cloud.load(tmp_path / f"empty{suffix}")
    (tmp_path / f"folder{suffix}").mkdir()
    with pytest.raises(InvalidValue, match="is a folder"):
        Cloud.load(tmp_path / f"folder{suffix}")


def test_arrays_under_other_names_are_refused(tmp_path):
    np.savez(tmp_path / "cloud.npz", points=np.zeros((2, 1)), weigths=np.ones(2) / 2)
    with pytest.raises(UnknownName, match=r"array in .*did you mean 'weights'"):
        Cloud.load(tmp_path / "cloud.npz")
    torch.save({"weights": torch.ones(2) / 2}, tmp_path / "cloud.pt")
    with pytest.raises(InvalidValue, match=r"needs an array 'points' but .* holds \['weights'\]"):
        Cloud.load(tmp_path / "cloud.pt")


def test_a_pt_file_may_hold_the_points_alone(tmp_path):
    torch.save(torch.eye(2), tmp_path / "cloud.pt")
    assert torch.equal(Cloud.load(tmp_path / "cloud.pt").points, torch.eye(2))


def test_nan_in_an_array_is_refused(tmp_path):
    np.save(tmp_path / "cloud.npy", np.array([[0.0], [np.nan]]))
    with pytest.raises(NotFinite, match=r"first at index \(1, 0\)"):
        Cloud.load(tmp_path / "cloud.npy")
