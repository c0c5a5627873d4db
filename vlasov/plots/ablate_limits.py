"""Distances from limits that are known: none is drawn where small steps do not resolve it."""

__all__ = ["known_only"]

from collections.abc import Mapping

import numpy as np
from jaxtyping import Bool

from vlasov.experiments.ablate_cases import FLOW
from vlasov.experiments.ablate_notes import AGREE
from vlasov.experiments.report import Table
from vlasov.plots.ablate_lines import Key, numbers


def known_only(rows: Mapping[Key, Table], measure: str) -> tuple[dict[Key, Table], bool]:
    """The networks with empty cells where the limit of the measure is not known, if it has one.

    A limit is known up to the last layer at which it agrees with that of half the small steps.
    Also whether anything was left out.
    """
    flow = next((table for (scheme, _), table in rows.items() if scheme == FLOW), None)
    kept, whole = dict(rows), True
    for key, table in rows.items():
        limit = {"cosine_to_limit": table, "cosine_to_pde": flow}.get(measure)
        if limit is None:
            continue
        lost = np.isfinite(numbers(table, measure)) & ~_known(limit)
        if lost.any():
            kept[key], whole = _emptied(table, measure, lost), False
    return kept, not whole


def _known(limit: Table) -> Bool[np.ndarray, " layers"]:
    return np.logical_and.accumulate(numbers(limit, "limit_agreement") >= AGREE)


def _emptied(table: Table, measure: str, lost: Bool[np.ndarray, " layers"]) -> Table:
    """The table without the mean and the interval of a measure in the lost rows."""
    places = {table.columns.index(f"{measure}{end}") for end in ("", "_low", "_high")}
    rows = (
        tuple(None if gone and place in places else cell for place, cell in enumerate(row))
        for row, gone in zip(table.rows, lost, strict=True)
    )
    return Table(table.columns, tuple(rows))
