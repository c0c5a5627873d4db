"""What a reader of a grid must know, in sentences: verdicts, and how far they reach."""

__all__ = ["lra_notes"]

import math
from collections.abc import Mapping, Sequence

from vlasov.experiments.lra_arms import BASELINE
from vlasov.experiments.lra_published import TITLES
from vlasov.experiments.lra_scores import floor_of
from vlasov.experiments.lra_statistics import FEWEST, Estimate
from vlasov.experiments.lra_verdicts import Comparison
from vlasov.experiments.report import Table

_PLENTY = 20  # comparisons of which one is expected beyond its interval


def lra_notes(
    runs: Table,
    found: Sequence[Comparison],
    floors: Mapping[str, Mapping[str, float]],
    data: Mapping[str, Sequence[str]],
) -> tuple[str, ...]:
    """Floors, verdicts, the reach of the intervals, the test sets, the data, and the time."""
    compared = [one for one in found if one.arm != BASELINE]
    return (
        *(_floor(task, guesses) for task, guesses in floors.items()),
        *map(_verdict, compared),
        *_reach(compared),
        *_tests(runs),
        *(f"{TITLES[task]}: {note}" for task, notes in data.items() for note in notes),
        *_troubles(runs),
        _hours(runs),
    )


def _floor(task: str, guesses: Mapping[str, float]) -> str:
    written = ", ".join(f"{name} {value:.4f}" for name, value in guesses.items())
    return f"{TITLES[task]}: guesses on the test: {written}; the floor is {floor_of(guesses):.4f}."


def _verdict(one: Comparison) -> str:
    gain, head = one.gain, f"{TITLES[one.task]}, {one.arm}: {one.verdict}"
    if gain.mean is None:
        return f"{head}."
    return f"{head} ({100 * gain.mean:+.2f} points{_interval(gain)}, {_seeds(gain.n)})."


def _interval(gain: Estimate) -> str:
    if gain.low is None or gain.high is None:
        return ""
    return f", 95 % interval {100 * gain.low:+.2f} to {100 * gain.high:+.2f}"


def _seeds(n: int) -> str:
    return "1 seed" if n == 1 else f"{n} seeds"


def _reach(compared: Sequence[Comparison]) -> list[str]:
    judged = [one for one in compared if one.gain.low is not None]
    if not judged:
        return []
    words = [
        "Intervals are Student's, of the differences to the baseline seed by seed: the same "
        "weights at the start and the same order of the data. They hold for this test set."
    ]
    if any(one.gain.n < FEWEST for one in judged):
        words.append(f"No test of significance is given for fewer than {FEWEST} seeds.")
    if len(judged) > 1:
        words.append(
            f"{len(judged)} comparisons, each with its own interval: where nothing helps, one in "
            f"{_PLENTY} excludes zero by chance."
        )
    return words


def _tests(runs: Table) -> list[str]:
    """How finely each test set measures one accuracy."""
    words: list[str] = []
    for task in dict.fromkeys(runs.column("task")):
        scored = [
            (float(score), int(count))
            for name, score, count in zip(
                *map(runs.column, ("task", "test_accuracy", "test_count")), strict=True
            )
            if name == task and score is not None and count
        ]
        if scored:
            score, count = sum(one for one, _ in scored) / len(scored), scored[0][1]
            error = math.sqrt(score * (1 - score) / count)
            words.append(
                f"{TITLES[str(task)]}: {count} test examples; one is {1 / count:.4f} of accuracy, "
                f"and another draw of them moves an accuracy by {error:.4f} (standard error)."
            )
    return words


def _troubles(runs: Table) -> list[str]:
    names = ("task", "diffusion", "seed", "status", "message")
    rows = list(zip(*map(runs.column, names), strict=True))
    diverged = [f"{TITLES[str(t)]}, {arm}, seed {seed}" for t, arm, seed, status, _ in rows
                if status == "diverged"]  # fmt: skip
    failed = [f"Failed: {TITLES[str(t)]}, {arm}, seed {seed}: {message}"
              for t, arm, seed, status, message in rows if status == "failed"]  # fmt: skip
    lost = [f"Diverged, and without an accuracy: {'; '.join(diverged)}."] if diverged else []
    return lost + failed


def _hours(runs: Table) -> str:
    seconds = sum(float(value) for value in runs.column("seconds") if value is not None)
    count = "1 run" if len(runs.rows) == 1 else f"{len(runs.rows)} runs"
    return f"{count}, {seconds / 3600:.3g} hours of training altogether."
