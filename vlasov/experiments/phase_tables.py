"""The tables of a phase diagram: every cell, and how many ended in which way."""

__all__ = ["cell_table", "interval", "outcome_table"]

from collections import Counter
from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from vlasov.experiments.phase_cells import Cells
from vlasov.experiments.phase_ends import KINDS
from vlasov.experiments.phase_systems import Systems
from vlasov.experiments.report import Cell, Table

_CONFIDENCE = 0.95


def cell_table(cells: Cells, ends: Mapping[str, Tensor]) -> Table:
    """Parameters, outcome, rank, blow-up time (empty without), trace and speed at the end."""
    times = ends["blow_up_time"]
    columns: dict[str, Sequence[Cell]] = {
        name: values.tolist() for name, values in cells.values.items()
    }
    if not cells.values:
        columns["draw"] = list(range(len(cells.systems)))
        columns |= _eigenvalues(cells.systems)
    columns |= {
        "outcome": [KINDS[kind] for kind in ends["kind"].tolist()],
        "rank": ends["rank"].tolist(),
        "blow_up_time": [t if t < torch.inf else None for t in times.tolist()],
        "trace": ends["trace"].tolist(),
        "relative_speed": ends["speed"].tolist(),
        "followed_to": ends["time"].tolist(),
    }
    return Table.of_columns(columns)


def outcome_table(cells: Table, *, random: bool) -> Table:
    """How many cells ended how, with the rank; of random draws shares with 95 % intervals."""
    found = Counter(zip(cells.column("outcome"), cells.column("rank"), strict=True))
    total = len(cells.rows)
    pairs = sorted(found, key=lambda pair: (KINDS.index(str(pair[0])), pair[1]))
    columns: dict[str, Sequence[Cell]] = {
        "outcome": [kind for kind, _ in pairs],
        "rank": [rank for _, rank in pairs],
        "count": [found[pair] for pair in pairs],
        "share": [found[pair] / total for pair in pairs],
    }
    if random:
        ends = [interval(found[pair], total) for pair in pairs]
        columns |= {"low": [low for low, _ in ends], "high": [high for _, high in ends]}
    return Table.of_columns(columns)


def interval(count: int, total: int) -> tuple[float, float]:
    r"""The 95 % interval of Clopper and Pearson for a proportion.

    Its ends are quantiles of Beta(k, n - k + 1) and Beta(k + 1, n - k), and 0 or 1 at the ends.

    Example:
        >>> [round(end, 4) for end in interval(0, 10)]
        [0.0, 0.3085]
    """
    from scipy.special import betaincinv  # heavy: only where there are proportions

    tail = (1 - _CONFIDENCE) / 2
    low = 0.0 if count == 0 else float(betaincinv(count, total - count + 1, tail))
    high = 1.0 if count == total else float(betaincinv(count + 1, total - count, 1 - tail))
    return low, high


def _eigenvalues(systems: Systems) -> dict[str, Sequence[Cell]]:
    """The largest eigenvalues of A + A^T and of S = VA + A^T V^T, with the sums over heads."""
    score = systems.maps["key"].mT @ systems.maps["query"]
    product = systems.maps["value"] @ score
    found = {"top_of_A_plus_AT": score.sum(-3), "top_of_S": product.sum(-3)}
    return {
        name: torch.linalg.eigvalsh(matrix + matrix.mT)[:, -1].tolist()
        for name, matrix in found.items()
    }
