"""The tables of an ablation: every layer of every network, and one line for each network."""

__all__ = ["Grid", "layer_table", "summary_table", "verdict_table"]

import math
from collections.abc import Mapping

from torch import Tensor

from vlasov.experiments.ablate_bands import Band, band_of
from vlasov.experiments.ablate_cases import Case
from vlasov.experiments.ablate_measure import MEASURES
from vlasov.experiments.ablate_verdicts import verdict
from vlasov.experiments.report import Cell, Table

Grid = Mapping[Case, Mapping[str, Tensor]]
"""Measures of each case, seeds in front."""

_KEYS = ("depth", "mlp", "scheme", "residual")


def layer_table(grid: Grid) -> Table:
    """Mean, smallest and largest over seeds of every measure; empty cells where there is none."""
    columns = [*_KEYS, "layer", "finite_seeds"]
    for name in MEASURES:
        columns += [name, f"{name}_low", f"{name}_high"]
    rows: list[tuple[Cell, ...]] = []
    for case, found in grid.items():
        bands = {name: band_of(name, found[name]) for name in MEASURES if name in found}
        finite = found["norm"].isfinite().sum(0).tolist()
        for layer, seeds in enumerate(finite):
            cells: list[Cell] = [*_key(case), layer, seeds]
            for name in MEASURES:
                cells += _at(bands.get(name), layer)
            rows.append(tuple(cells))
    return Table(tuple(columns), tuple(rows))


def summary_table(grid: Grid) -> Table:
    """Norm, token cosine, cosine with the input and gradient together.

    Norm and cosines are those behind the last layer; the gradient by the input is over that by the
    output.
    """
    columns = (*_KEYS, "norm", "token_cosine", "input_cosine", "gradient")
    rows: list[tuple[Cell, ...]] = []
    for case, found in grid.items():
        shown = [
            _rounded(band_of(name, found[name]).mean[-1])
            for name in ("norm", "token_cosine", "input_cosine")
        ]
        rows.append((*_key(case), *shown, _amplification(found)))
    return Table(columns, tuple(rows))


def verdict_table(grid: Grid) -> Table:
    """What happens to each network, in words."""
    rows = [(case.depth, case.mlp, case.label, verdict(found)) for case, found in grid.items()]
    return Table(("depth", "mlp", "network", "verdict"), tuple(rows))


def _key(case: Case) -> tuple[Cell, ...]:
    return (case.depth, case.mlp, case.scheme, case.residual)


def _at(band: Band | None, layer: int) -> list[Cell]:
    if band is None:
        return [None, None, None]
    return [_cell(one[layer]) for one in (band.mean, band.low, band.high)]


def _amplification(found: Mapping[str, Tensor]) -> Cell:
    if "gradient" not in found:
        return None
    gradient = found["gradient"]
    return _rounded(band_of("gradient", gradient[:, :1] / gradient[:, -1:]).mean[0])


def _cell(value: Tensor) -> Cell:
    number = float(value)
    return number if math.isfinite(number) else None


def _rounded(value: Tensor) -> Cell:
    """Three digits: the line is read, not computed with."""
    number = _cell(value)
    return None if number is None else float(f"{number:.3g}")
