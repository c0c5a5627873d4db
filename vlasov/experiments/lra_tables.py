"""The tables of a grid: its runs, their curves, and the diffusion that was learnt."""

__all__ = ["alpha_table", "curve_table", "run_table"]

import math
from collections.abc import Sequence

from vlasov.experiments.lra_trials import Outcome, Trial
from vlasov.experiments.report import Cell, Table
from vlasov.lra.training_result import TrainingResult

_KEYS = ("task", "diffusion", "seed")
_FACTS = (
    "test_accuracy", "test_count", "validation_accuracy", "best_epoch", "epochs", "steps",
    "seconds", "step_seconds", "memory", "parameters",
)  # fmt: skip


def run_table(outcomes: Sequence[Outcome]) -> Table:
    """One row for each run that ended; `validation_accuracy` is that of the best epoch, from 1."""
    rows: list[tuple[Cell, ...]] = []
    for one in outcomes:
        if one.failure is not None:
            row = (*_key(one.trial), "failed", *[None] * len(_FACTS), one.failure)
        elif one.result is not None:
            row = (*_key(one.trial), one.result.status, *_facts(one.result), None)
        else:
            continue
        rows.append(row)
    return Table((*_KEYS, "status", *_FACTS, "message"), tuple(rows))


def curve_table(outcomes: Sequence[Outcome]) -> Table:
    """Losses and validation accuracy of every run after each epoch."""
    rows: list[tuple[Cell, ...]] = []
    for trial, result in _results(outcomes):
        curves = (result.train_losses, result.validation_losses, result.validation_accuracies)
        for epoch, values in enumerate(zip(*curves, strict=False), 1):
            rows.append((*_key(trial), epoch, *map(_cell, values)))
    names = ("epoch", "train_loss", "validation_loss", "validation_accuracy")
    return Table((*_KEYS, *names), tuple(rows))


def alpha_table(outcomes: Sequence[Outcome]) -> Table:
    """Strength (mean over channels) and share of every diffusion layer at each of its scales."""
    rows: list[tuple[Cell, ...]] = []
    for trial, result in _results(outcomes):
        for layer, strengths in result.alphas.items():
            parts = zip(result.scales[layer], strengths, result.weights[layer], strict=True)
            rows += [(*_key(trial), layer, h, _cell(a), _cell(w)) for h, a, w in parts]
    return Table((*_KEYS, "layer", "scale", "alpha", "weight"), tuple(rows))


def _results(outcomes: Sequence[Outcome]) -> list[tuple[Trial, TrainingResult]]:
    return [(one.trial, one.result) for one in outcomes if one.result is not None]


def _key(trial: Trial) -> tuple[str, str, int]:
    return (trial.task, trial.arm.name, trial.seed)


def _facts(result: TrainingResult) -> tuple[Cell, ...]:
    best, accuracies = result.best_epoch, result.validation_accuracies
    return (
        result.test_accuracy,
        result.test_count,
        None if best is None else accuracies[best],
        None if best is None else best + 1,
        result.epochs,
        result.steps,
        result.seconds,
        _cell(result.step_seconds),
        result.memory,
        result.parameters,
    )


def _cell(value: float) -> Cell:
    return value if math.isfinite(value) else None
