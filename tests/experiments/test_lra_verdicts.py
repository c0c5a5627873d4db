"""Verdicts on arms, and the sentences that say how far they reach."""

import pytest
from lra_grids import FLOORS, made_outcomes, made_result, noisy

from vlasov.experiments.lra_notes import lra_notes
from vlasov.experiments.lra_scores import scores_of
from vlasov.experiments.lra_tables import alpha_table, curve_table, run_table
from vlasov.experiments.lra_trials import Outcome
from vlasov.experiments.lra_verdicts import comparisons, paired_table

ARMS = ("none", "after-mlp:1")


def compared(accuracy, seeds=6, arms=ARMS, task="listops"):
    """The comparison of the last arm."""
    scores = scores_of(run_table(made_outcomes([task], arms, seeds, accuracy)))
    return comparisons(scores, {task: max(FLOORS[task].values())})[-1]


@pytest.mark.parametrize(("accuracy", "seeds", "verdict"), [
    (noisy(0.4, 0.03), 6, "helped"),
    (noisy(0.4, -0.03), 6, "hurt"),
    (noisy(0.4, 0.0), 6, "no difference seen at this size"),
    (noisy(0.4, 0.03), 5, "helped; no test: fewer than 6 seeds"),
    (noisy(0.4, 0.03), 1, "one seed: no interval, no verdict"),
    (noisy(0.2, 0.03), 6, "helped; neither is above the floor"),
    (lambda trial: 0.5 if trial.arm.name == "none" else 0.75, 6,
     "the same difference at every seed: no interval, no verdict"),
    (lambda trial: None if trial.arm.name == "none" else 0.4, 6, "not compared: no seed of both"),
])  # fmt: skip
def test_the_interval_decides_where_there_is_one(accuracy, seeds, verdict):
    assert compared(accuracy, seeds).verdict == verdict


def test_a_baseline_says_whether_it_learnt_anything():
    assert compared(noisy(0.4, 0.0), arms=("none",)).verdict == "baseline"
    below = compared(noisy(0.2, 0.0), arms=("none",))
    assert below.verdict == "baseline, not above the floor"


def test_the_noise_of_a_seed_cancels_in_its_pair():
    found = compared(noisy(0.4, 0.03))
    assert found.gain.deviation < 0.5 * found.accuracy.deviation
    assert found.gain.mean == pytest.approx(0.03, abs=0.004)


@pytest.mark.parametrize(("seeds", "tested"), [(5, False), (6, True)])
def test_no_p_value_is_printed_below_six_seeds(seeds, tested):
    table = paired_table([compared(noisy(0.4, 0.03), seeds)])
    for test in ("t_test", "sign_test"):
        assert (table.column(test)[0] is not None) is tested
    assert table.column("n") == [seeds]


def test_tasks_are_compared_with_their_own_baseline():
    outcomes = made_outcomes(["listops", "text"], ARMS, 2, noisy(0.6, 0.0))
    scores = scores_of(run_table(outcomes))
    found = comparisons(scores, {"listops": 0.3, "text": 0.5})
    assert [(one.task, one.arm) for one in found] == [
        (task, arm) for task in ("listops", "text") for arm in ARMS
    ]


def notes(outcomes, data=None):
    runs = run_table(outcomes)
    found = comparisons(scores_of(runs), {"listops": 0.3})
    return "\n".join(lra_notes(runs, found, {"listops": FLOORS["listops"]}, data or {}))


def test_notes_say_floors_verdicts_reach_and_hours():
    outcomes = made_outcomes(["listops"], (*ARMS, "after-mlp:2"), 5, noisy(0.4, 0.03))
    text = notes(outcomes, {"listops": ("One note.",)})
    for words in (
        "ListOps: guesses on the test: majority 0.1700, root operator 0.3",
        "ListOps, after-mlp:1: helped; no test: fewer than 6 seeds (+",
        "points, 95 % interval +",
        "No test of significance is given for fewer than 6 seeds.",
        "2 comparisons, each with its own interval",
        "100 test examples; one is 0.0100 of accuracy",
        "ListOps: One note.",
        "15 runs, 0.15 hours of training altogether.",
    ):
        assert words in text


def test_notes_name_what_failed_and_what_diverged():
    first, second = made_outcomes(["listops"], ARMS, 1, noisy(0.4, 0.0))
    text = notes([
        Outcome(first.trial, failure="No room."),
        Outcome(second.trial, made_result(None, status="diverged", test_count=0)),
    ])  # fmt: skip
    assert "Failed: ListOps, none, seed 0: No room." in text
    assert "Diverged, and without an accuracy: ListOps, after-mlp:1, seed 0." in text
    assert "interval" not in text


def test_tables_of_runs_hold_what_ended():
    done, waiting = made_outcomes(["listops"], ARMS, 1, noisy(0.4, 0.0))
    outcomes = [done, Outcome(waiting.trial), Outcome(waiting.trial, failure="No room.")]
    runs = run_table(outcomes)
    assert runs.column("status") == ["finished", "failed"]
    assert runs.column("message") == [None, "No room."]
    assert runs.column("best_epoch") == [2, None]
    assert runs.column("validation_accuracy") == [0.35, None]


def test_tables_of_curves_and_of_learned_layers():
    outcomes = made_outcomes(["listops"], ("none", "after-mlp:1,2,4"), 1, noisy(0.4, 0.0))
    curves, alphas = curve_table(outcomes), alpha_table(outcomes)
    assert curves.column("epoch") == [1, 2, 1, 2]
    assert curves.column("validation_loss") == [2.1, 1.6] * 2
    assert alphas.column("scale") == [1, 2, 4]
    assert alphas.column("alpha") == [0.2] * 3
    assert alphas.column("weight") == pytest.approx([1 / 3] * 3)
