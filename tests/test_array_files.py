"""Files with arrays that cannot be read."""

import sys

import numpy as np
import pytest

from vlasov.array_files import read_arrays
from vlasov.cloud import Cloud
from vlasov.errors import InvalidValue, MissingExtra, UnknownName


@pytest.fixture
def cloud() -> Cloud:
    return Cloud.gaussian(7, d=3, seed=4)


@pytest.mark.parametrize("suffix", [".npy", ".npz", ".pt", ".safetensors"])
def test_a_damaged_file_is_refused(suffix, cloud, tmp_path):
    path = cloud.save(tmp_path / f"cloud{suffix}")
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(InvalidValue, match=f"cannot be read as {suffix}"):
        Cloud.load(path)


def test_a_text_file_under_a_wrong_suffix_is_refused(tmp_path):
    (tmp_path / "cloud.pt").write_text("junk")
    with pytest.raises(InvalidValue, match=r"cannot be read as .pt"):
        Cloud.load(tmp_path / "cloud.pt")


def test_arrays_without_numbers_are_refused(tmp_path):
    np.save(tmp_path / "cloud.npy", np.array([["a"], ["b"]]))
    with pytest.raises(InvalidValue, match=r"The array of 'cloud.npy' must be real numbers"):
        Cloud.load(tmp_path / "cloud.npy")


def test_arrays_of_an_unknown_suffix_are_refused(tmp_path):
    with pytest.raises(UnknownName, match=r"suffix of a file with arrays '.csv'"):
        read_arrays(tmp_path / "matrix.csv")


def test_safetensors_is_an_extra(monkeypatch, cloud, tmp_path):
    path = cloud.save(tmp_path / "cloud.safetensors")
    monkeypatch.setitem(sys.modules, "safetensors.torch", None)
    with pytest.raises(MissingExtra, match=r"pip install 'vlasov\[pretrained\]'"):
        Cloud.load(path)
    with pytest.raises(MissingExtra, match=r"pip install 'vlasov\[pretrained\]'"):
        cloud.save(path)
