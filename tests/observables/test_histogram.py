"""The histogram of inner products."""

import pytest
import torch
from torch.testing import assert_close

from vlasov.cloud import Cloud
from vlasov.errors import InvalidValue
from vlasov.observables import Histogram


def test_masses_agree_with_all_pairs():
    cloud = Cloud.sphere(200, 3)
    gram = (cloud.points @ cloud.points.mT).flatten().clamp(-1, 1)
    counts = torch.histogram(gram, bins=20, range=(-1.0, 1.0)).hist
    assert_close(Histogram(bins=20)(cloud), counts / 200**2)


def test_blocks_of_rows_give_the_same_masses_as_one_block(monkeypatch):
    cloud = Cloud.sphere(50, 3)
    whole = Histogram()(cloud)
    monkeypatch.setattr("vlasov.observables.histogram._BLOCK", 120)
    assert_close(Histogram()(cloud), whole)


def test_outer_bins_hold_what_lies_beyond():
    masses = Histogram(bins=4, low=0.0, high=1.0)(Cloud([[-2.0], [0.5]], [0.25, 0.75]))
    # pairs: 4 (weight 1/16), -1 (6/16), 0.25 (9/16)
    assert_close(masses, torch.tensor([6 / 16, 9 / 16, 0.0, 1 / 16], dtype=torch.float64))


def test_small_masses_add_up_in_single_precision():
    masses = Histogram(bins=2)(Cloud.sphere(5000, 2, dtype=torch.float32))
    assert_close(masses.sum().item(), 1.0, atol=1e-6, rtol=0.0)


def test_a_histogram_needs_a_bin():
    with pytest.raises(InvalidValue, match="one bin or more"):
        Histogram(bins=0)


def test_a_histogram_needs_an_interval():
    with pytest.raises(InvalidValue, match="low < high"):
        Histogram(low=1.0, high=1.0)
