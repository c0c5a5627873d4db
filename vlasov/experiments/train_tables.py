"""The tables of a training ablation: its curves, its ends, and its sweep over learning rates."""

__all__ = ["Found", "Trial", "curve_table", "summary_table", "sweep_table"]

import math
from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from vlasov.experiments.ablate_bands import Band, band_of
from vlasov.experiments.ablate_cases import Case
from vlasov.experiments.report import Cell, Table
from vlasov.experiments.train_loop import MEASURES, last_loss


@dataclass(frozen=True)
class Trial:
    """One network of the grid at one learning rate."""

    case: Case
    rate: float

    @property
    def key(self) -> tuple[Cell, ...]:
        """The first cells of its rows."""
        return (self.case.depth, self.case.mlp, self.case.scheme, self.case.residual, self.rate)


Found = Mapping[Trial, Mapping[str, Tensor]]
"""Measures of each trial, (seeds, steps), and the step each seed diverged at, -1 for none."""

_KEYS = ("depth", "mlp", "scheme", "residual", "rate")


def curve_table(found: Found) -> Table:
    """Mean over the finite seeds, with its interval, of every measure at every step."""
    columns = [*_KEYS, "step", "finite_seeds"]
    for name in MEASURES:
        columns += [name, f"{name}_low", f"{name}_high"]
    rows: list[tuple[Cell, ...]] = []
    for trial, measured in found.items():
        bands = [band_of(name, measured[name]) for name in MEASURES]
        finite = measured["loss"].isfinite().sum(0).tolist()
        for step, seeds in enumerate(finite):
            cells = [cell for band in bands for cell in _cells(band, step)]
            rows.append((*trial.key, step, seeds, *cells))
    return Table(tuple(columns), tuple(rows))


def summary_table(found: Found) -> Table:
    """Losses, gradients and steps of every trial, to three digits.

    Losses, gradients and the update ratio are geometric means over the seeds that are finite
    there, of the gradient also the largest along the run. `diverged_at` is the first step at which
    a seed diverged.
    """
    columns = (*_KEYS, "first_loss", "last_loss", "first_gradient", "top_gradient",
               "update_ratio", "diverged_at")  # fmt: skip
    return Table(columns, tuple((*trial.key, *_summary(one)) for trial, one in found.items()))


def sweep_table(found: Found) -> Table:
    """The last loss of every trial over the seeds that did not diverge, with its interval."""
    columns = (*_KEYS, "last_loss", "last_loss_low", "last_loss_high", "diverged_seeds")
    rows: list[tuple[Cell, ...]] = []
    for trial, measured in found.items():
        band = band_of("loss", last_loss(measured["loss"])[:, None])
        lost = int((measured["diverged"] >= 0).sum())
        rows.append((*trial.key, *_cells(band, 0), lost))
    return Table(columns, tuple(rows))


def _summary(measured: Mapping[str, Tensor]) -> list[Cell]:
    gradient, diverged = measured["gradient"], measured["diverged"]
    largest = gradient.where(gradient.isfinite(), -torch.inf).amax(-1)
    lost = diverged[diverged >= 0]
    return [
        _mean("loss", measured["loss"][:, 0]),
        _mean("loss", last_loss(measured["loss"])),
        _mean("gradient", gradient[:, 0]),
        _mean("gradient", largest),
        _mean("update_ratio", measured["update_ratio"].flatten()),
        int(lost.min()) if len(lost) else None,
    ]


def _mean(name: str, value: Tensor) -> Cell:
    number = _cell(band_of(name, value[:, None]).mean[0])
    return None if number is None else float(f"{number:.3g}")


def _cells(band: Band, place: int) -> list[Cell]:
    return [_cell(one[place]) for one in (band.mean, band.low, band.high)]


def _cell(value: Tensor) -> float | None:
    number = float(value)
    return number if math.isfinite(number) else None
