"""Means with intervals, paired differences and the two tests, against exact values."""

import random

import pytest
from scipy import stats

from vlasov.experiments.lra_statistics import FEWEST, estimate, paired, sign_test, t_test

DRAW = random.Random(0)
SAMPLES = [[DRAW.gauss(0.1, 1.0) for _ in range(n)] for n in (2, 5, 6, 9)]


def test_the_interval_of_two_is_that_of_a_cauchy_quantile():
    found = estimate([1.0, 3.0])
    # t(0.975, 1) = tan(0.475 pi), s / sqrt(2) = 1
    assert (found.mean, found.n) == (2.0, 2)
    assert found.high - found.mean == pytest.approx(12.706204736432095)
    assert found.mean - found.low == pytest.approx(12.706204736432095)


@pytest.mark.parametrize("values", SAMPLES, ids=len)
def test_the_interval_is_that_of_scipy(values):
    found = estimate(values)
    known = stats.ttest_1samp(values, 0.0).confidence_interval(0.95)
    assert (found.low, found.high) == pytest.approx((known.low, known.high))
    assert found.deviation == pytest.approx(stats.tstd(values))


def test_few_numbers_have_no_interval():
    assert estimate([]).mean is None
    assert (estimate([0.3]).mean, estimate([0.3]).low) == (0.3, None)


def test_only_seeds_of_both_are_paired():
    assert paired({0: 1.0, 2: 5.0, 3: 0.0}, {3: 1.0, 0: 0.5, 7: 9.0}) == [0.5, -1.0]


def test_the_t_test_is_that_of_scipy():
    values = SAMPLES[-1]
    assert t_test(values) == pytest.approx(stats.ttest_1samp(values, 0.0).pvalue)


@pytest.mark.parametrize("test", [t_test, sign_test])
def test_no_test_below_six_seeds(test):
    assert test(SAMPLES[1]) is None
    assert test(SAMPLES[2]) is not None
    assert FEWEST == 6


def test_the_sign_test_counts_signs_and_leaves_ties_out():
    assert sign_test([0.1] * 6) == 2 / 2**6
    assert sign_test([0.1] * 5 + [-9.0, 0.0]) == pytest.approx(2 * 7 / 2**6)
    assert sign_test([0.0] * 6) == 1.0


def test_without_spread_there_is_no_t_test():
    assert t_test([0.25] * 6) is None
    rounded = [a - b for a, b in ((0.41, 0.40), (0.38, 0.37), (0.36, 0.35))] * 2
    assert len(set(rounded)) > 1
    assert t_test(rounded) is None
    assert estimate(rounded).deviation == 0.0
