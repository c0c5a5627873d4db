"""Tables 7 and 12 of the paper: single scales and several, on ListOps."""

__all__ = ["scale_gain_table", "scale_table"]

from collections.abc import Mapping, Sequence

from vlasov.experiments.lra_paper_cells import Cell, PaperTable
from vlasov.experiments.lra_published import ACCURACY, POSITIONS, SCALE_ACCURACY, SCALES
from vlasov.experiments.lra_scores import BASE, Place, Seeds, seeds_at
from vlasov.experiments.lra_statistics import accuracy_of, estimate, paired


def scale_table(found: Mapping[Place, Seeds]) -> PaperTable:
    """Table 7: the accuracy of each position at each scale."""
    rows = {POSITIONS[position]: _of_scales(found, position) for position in SCALE_ACCURACY}
    return PaperTable(7, "Accuracy by scale on ListOps", tuple(SCALES.values()), rows)


def _of_scales(found: Mapping[Place, Seeds], position: str) -> tuple[Cell, ...]:
    printed = zip(SCALES, SCALE_ACCURACY[position], strict=True)
    return tuple(
        Cell(accuracy_of(seeds_at(found, (position, scale))), one) for scale, one in printed
    )


def scale_gain_table(found: Mapping[Place, Seeds]) -> PaperTable:
    """Table 12: the same, the best single scale and the gain over it; all over the baseline."""
    base = Cell(accuracy_of(seeds_at(found, BASE)), ACCURACY[BASE[0]][0])
    rows: dict[str, tuple[Cell, ...]] = {f"{POSITIONS[BASE[0]]}, without scales": (base,)}
    for position in SCALE_ACCURACY:
        best, gain = _best(found, position)
        single = Cell(accuracy_of(best), max(SCALE_ACCURACY[position][:-1]))
        rows[POSITIONS[position]] = (*_of_scales(found, position), single, gain)
    for position in SCALE_ACCURACY:
        rows[f"{POSITIONS[position]}, over the baseline"] = _over_base(found, position)
    columns = (*SCALES.values(), "Best single", "Multi-scale gain")
    return PaperTable(12, "Scales on ListOps, and the gain of several", columns, rows)


def _over_base(found: Mapping[Place, Seeds], position: str) -> tuple[Cell, ...]:
    """Each scale and the best single one against the baseline, and the gain of several again."""
    base, printed_base = seeds_at(found, BASE), ACCURACY[BASE[0]][0]
    printed = SCALE_ACCURACY[position]
    best, gain = _best(found, position)
    arms = [*(seeds_at(found, (position, scale)) for scale in SCALES), best]
    cells = [
        Cell(estimate(paired(arm, base)), one - printed_base, signed=True)
        for arm, one in zip(arms, (*printed, max(printed[:-1])), strict=True)
    ]
    return (*cells, gain)


def _best(found: Mapping[Place, Seeds], position: str) -> tuple[Seeds, Cell]:
    """The best single scale, and the gain of several over it."""
    *single, several = SCALE_ACCURACY[position]
    *narrow, wide = (seeds_at(found, (position, scale)) for scale in SCALES)
    best = _highest(narrow)
    return best, Cell(estimate(paired(wide, best)), several - max(single), signed=True)


def _highest(arms: Sequence[Seeds]) -> Seeds:
    """The arm of the highest mean; none before all of them were run."""
    if not all(arms):
        return {}
    return max(arms, key=lambda seeds: sum(seeds.values()) / len(seeds))
