"""Every arm against the baseline, seed by seed, with a verdict in plain words."""

__all__ = ["Comparison", "comparisons", "paired_table"]

from collections.abc import Mapping
from dataclasses import dataclass

from vlasov.experiments.lra_arms import BASELINE
from vlasov.experiments.lra_scores import Scores
from vlasov.experiments.lra_statistics import (
    FEWEST,
    Estimate,
    estimate,
    paired,
    sign_test,
    t_test,
)
from vlasov.experiments.report import Cell, Table

_FEW = f"no test: fewer than {FEWEST} seeds"


@dataclass(frozen=True)
class Comparison:
    """One arm of one task against the baseline; `differences` are those of the common seeds."""

    task: str
    arm: str
    accuracy: Estimate
    base: Estimate
    differences: tuple[float, ...]
    floor: float

    @property
    def gain(self) -> Estimate:
        """The mean difference."""
        return estimate(self.differences)

    @property
    def verdict(self) -> str:
        """Helped, hurt or neither, judged by the interval."""
        if self.arm == BASELINE:
            return "baseline" if self._above_floor else "baseline, not above the floor"
        if not self.differences:
            return "not compared: no seed of both"
        if len(self.differences) == 1:
            return "one seed: no interval, no verdict"
        if self.gain.deviation == 0:
            return "the same difference at every seed: no interval, no verdict"
        words = [_side(self.gain)]
        words += [] if self._above_floor else ["neither is above the floor"]
        words += [] if len(self.differences) >= FEWEST else [_FEW]
        return "; ".join(words)

    @property
    def _above_floor(self) -> bool:
        """Whether anything was learnt, here or by the baseline."""
        means = [one.mean for one in (self.accuracy, self.base) if one.mean is not None]
        return any(mean > self.floor for mean in means)


def comparisons(scores: Scores, floors: Mapping[str, float]) -> list[Comparison]:
    """All arms task by task, in the order of the runs; `floors` are the highest of each task."""
    tasks = dict.fromkeys(task for task, _ in scores)
    return [
        Comparison(
            task,
            arm,
            estimate(list(seeds.values())),
            estimate(list(base.values())),
            () if arm == BASELINE else tuple(paired(seeds, base)),
            floors[task],
        )
        for task in tasks
        for base in [scores.get((task, BASELINE), {})]
        for (name, arm), seeds in scores.items()
        if name == task
    ]


def paired_table(found: list[Comparison]) -> Table:
    """One row for each comparison, to four digits; p-values are empty below six seeds."""
    columns = ("task", "diffusion", "n", "accuracy", "deviation", "floor", "difference", "low",
               "high", "t_test", "sign_test", "verdict")  # fmt: skip
    return Table(columns, tuple(_row(one) for one in found))


def _row(one: Comparison) -> tuple[Cell, ...]:
    gain, differences = one.gain, one.differences
    numbers = (
        one.accuracy.mean,
        one.accuracy.deviation,
        one.floor,
        gain.mean,
        gain.low,
        gain.high,
    )
    tests = (t_test(differences), sign_test(differences))
    n = one.accuracy.n if one.arm == BASELINE else gain.n
    return (one.task, one.arm, n, *map(_rounded, numbers), *map(_two_digits, tests), one.verdict)


def _side(gain: Estimate) -> str:
    if gain.low is not None and gain.low > 0:
        return "helped"
    if gain.high is not None and gain.high < 0:
        return "hurt"
    return "no difference seen at this size"


def _two_digits(value: float | None) -> Cell:
    return None if value is None else float(f"{value:.2g}")


def _rounded(value: float | None) -> Cell:
    return None if value is None else round(value, 4)
