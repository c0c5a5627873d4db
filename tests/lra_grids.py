"""Made-up runs of the Long Range Arena: results by hand, whole grids without any training."""

import random
from collections.abc import Callable, Sequence

from vlasov.experiments.lra_arms import Arm
from vlasov.experiments.lra_scores import floor_of, scores_of
from vlasov.experiments.lra_tables import alpha_table, curve_table, run_table
from vlasov.experiments.lra_trials import Outcome, Trial, trials_of
from vlasov.experiments.lra_verdicts import comparisons, paired_table
from vlasov.experiments.report import Report
from vlasov.lra.training_result import TrainingResult

FLOORS = {
    "listops": {"majority": 0.17, "root operator": 0.3},
    "text": {"majority": 0.5},
    "retrieval": {"majority": 0.5},
    "pathfinder": {"majority": 0.5},
    "image": {"majority": 0.1},
}


def made_result(accuracy: float | None = 0.4, **changed: object) -> TrainingResult:
    """Two epochs, the second the best."""
    facts = {
        "status": "finished",
        "epochs": 2,
        "steps": 8,
        "best_epoch": 1,
        "train_losses": (2.0, 1.5),
        "validation_losses": (2.1, 1.6),
        "validation_accuracies": (0.3, 0.35),
        "test_accuracy": accuracy,
        "test_count": 100,
        "seconds": 36.0,
        "step_seconds": 0.5,
        "parameters": 1000,
    }
    return TrainingResult(**(facts | changed))


def layers_of(arm: Arm, alpha: float = 0.2) -> dict[str, object]:
    """What was learnt by one layer of an arm, with equal shares."""
    place = arm.place
    if place is None or not place[1]:
        return {}
    scales = list(place[1])
    equal = [1 / len(scales)] * len(scales)
    return {"alphas": {"a": [alpha] * len(scales)}, "scales": {"a": scales},
            "weights": {"a": equal}}  # fmt: skip


def made_outcomes(
    tasks: Sequence[str],
    arms: Sequence[str],
    seeds: int,
    accuracy: Callable[[Trial], float | None],
) -> list[Outcome]:
    """A grid whose accuracies are a function of the trial."""
    chosen = [Arm(arm) for arm in arms]
    return [
        Outcome(trial, made_result(accuracy(trial), **layers_of(trial.arm)))
        for trial in trials_of({task: chosen for task in tasks}, range(seeds))
    ]


def made_report(outcomes: Sequence[Outcome]) -> Report:
    """The report that pictures are drawn from."""
    runs = run_table(outcomes)
    floors = {task: FLOORS[task] for task in dict.fromkeys(runs.column("task"))}
    found = comparisons(scores_of(runs), {t: floor_of(f) for t, f in floors.items()})
    tables = {
        "paired": paired_table(found),
        "runs": runs,
        "curves": curve_table(outcomes),
        "alphas": alpha_table(outcomes),
    }
    return Report({"status": "finished", "message": "", "floors": floors}, tables)


def noisy(base: float, gain: float) -> Callable[[Trial], float]:
    """Accuracies that share the noise of the seed, with a gain for every arm but the baseline."""

    def accuracy(trial: Trial) -> float:
        shared = random.Random(trial.seed).gauss(0, 0.01)
        own = random.Random(str(trial)).gauss(0, 0.002)
        return base + shared + own + (gain if trial.arm.name != "none" else 0.0)

    return accuracy
