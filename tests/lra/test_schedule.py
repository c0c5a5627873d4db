"""Rates of known steps, and when a run stops."""

from itertools import pairwise

import pytest

from vlasov.lra.early_stopping import EarlyStopping
from vlasov.lra.schedule import Schedule


def test_the_warmup_rises_to_the_peak_and_a_resumed_run_keeps_its_place():
    schedule = Schedule(1e-3, warmup=4)
    rates = [schedule(step) for step in range(6)]
    assert rates == [2.5e-4, 5e-4, 7.5e-4, 1e-3, 1e-3, 1e-3]
    assert Schedule(1e-3, warmup=4)(2) == 7.5e-4


def test_the_cosine_ends_at_its_horizon_and_stays_there():
    schedule = Schedule(1.0, warmup=0, horizon=10)
    assert schedule(0) == 1.0
    assert schedule(5) == pytest.approx(0.5, abs=1e-15)
    assert [schedule(step) for step in range(10, 16)] == [0.0] * 6


def test_the_rate_falls_behind_the_warmup():
    schedule = Schedule(1e-3, warmup=3, horizon=20)
    rates = [schedule(step) for step in range(20)]
    assert rates[2] == rates[3] == 1e-3
    assert all(a > b for a, b in pairwise(rates[3:]))
    assert rates[-1] > 0


def test_a_warmup_that_outlasts_the_run_never_reaches_the_peak():
    schedule = Schedule(1e-3, warmup=10_000, horizon=2200)
    assert schedule(2199) == pytest.approx(0.22e-3)
    assert schedule(2200) == 0.0


def scores(*losses):
    return [(float(loss),) for loss in losses]


def epochs_run(patience, *losses):
    """The epochs of a run that would have these losses."""
    for last in range(len(losses)):
        if EarlyStopping(patience, scores(*losses[: last + 1])).stops:
            return last + 1
    return len(losses)


def test_patience_counts_the_epochs_without_a_better_one():
    losses = (1.0, 0.9, 0.91, 0.92, 0.93, 0.94)
    assert epochs_run(2, *losses) == 4
    assert EarlyStopping(2, scores(*losses[:4])).best_epoch == 1


def test_patience_one_never_stops_at_the_first_epoch():
    assert epochs_run(1, 1.0) == 1
    assert not EarlyStopping(1, scores(1.0)).stops
    assert EarlyStopping(1, scores(1.0, 1.1)).stops


def test_a_late_improvement_counts():
    assert not EarlyStopping(2, scores(1.0, 1.1, 0.8)).stops
    assert EarlyStopping(2, scores(1.0, 1.1, 0.8)).improved


def test_patience_zero_never_stops():
    assert epochs_run(0, *range(50)) == 50


def test_ties_are_broken_by_the_next_entry_and_then_by_the_first():
    found = EarlyStopping(3, [(-0.5, 1.0), (-0.5, 0.9), (-0.5, 0.9)])
    assert found.best_epoch == 1
    assert not found.improved


def test_nothing_is_best_before_the_first_epoch():
    found = EarlyStopping(1, [])
    assert found.best_epoch is None
    assert not found.stops
    assert not found.improved
