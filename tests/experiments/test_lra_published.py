"""The numbers of the paper agree with each other where we say so, and the remarks with them."""

import pytest

from vlasov.experiments.lra_published import (
    ACCURACY,
    AVERAGE,
    DEVIATION,
    POSITIONS,
    REMARKS,
    SCALE_ACCURACY,
    SCALES,
    TASKS,
    TITLES,
)
from vlasov.lra import TASKS as OWN_TASKS

BASE = ACCURACY["none"]
GAINS = [one - base for one, base in zip(ACCURACY["after-embedding"], BASE, strict=True)]


def test_the_names_are_ours():
    assert set(TASKS) == set(TITLES) == set(OWN_TASKS)
    assert set(ACCURACY) == set(AVERAGE) == set(POSITIONS)


@pytest.mark.parametrize("position", POSITIONS)
def test_averages_follow_from_table_10(position):
    assert sum(ACCURACY[position]) / len(TASKS) == pytest.approx(AVERAGE[position], abs=5.1e-5)


def test_the_remarks_on_the_average_gain():
    assert 100 * sum(GAINS) / 5 == pytest.approx(4.07, abs=0.01)
    assert GAINS[3] / sum(GAINS) == pytest.approx(0.46, abs=0.005)
    assert 100 * (sum(GAINS) - GAINS[3]) / 4 == pytest.approx(2.76, abs=0.01)
    assert "46 %" in REMARKS[6][1]
    assert "2.76" in REMARKS[6][1]


def test_the_remarks_on_equal_cells():
    before, after = ACCURACY["before-norm"], ACCURACY["after-mlp"]
    assert [one == other for one, other in zip(before, after, strict=True)].count(True) == 4
    assert before[2] == BASE[2] != after[2]
    assert ACCURACY["after-embedding"][2] == BASE[2]
    assert ACCURACY["after-attention"][0] == BASE[0]


def test_the_remark_on_scales_and_deviations():
    gains = [row[-1] - max(row[:-1]) for row in SCALE_ACCURACY.values()]
    assert (min(gains), max(gains)) == pytest.approx((0.006, 0.009))
    assert all(len(row) == len(SCALES) for row in SCALE_ACCURACY.values())
    of_arms = [deviation for position, deviation in DEVIATION.items() if position != "none"]
    assert 1.4 < min(gains) / max(of_arms) < 2 < max(gains) / min(of_arms) < 2.6
