"""Tables 6, 7, 10, 11, 12, 14 and 15 of the paper from the runs there are, its numbers beside.

A cell is the mean over the seeds, of differences over the seeds that both arms have; it is empty
where nothing was run. Positions are those with a diffusion of scale 1, as in the paper.
"""

__all__ = ["paper_tables"]

from collections.abc import Mapping, Sequence

from vlasov.experiments.lra_paper_cells import Cell, PaperTable
from vlasov.experiments.lra_published import (
    ACCURACY,
    AVERAGE,
    DEVIATION,
    OVERHEAD,
    POSITIONS,
    SCALE_ACCURACY,
    SCALES,
    TASKS,
)
from vlasov.experiments.lra_scores import Place, of_places, scores_of
from vlasov.experiments.lra_statistics import Estimate, estimate, paired
from vlasov.experiments.report import Table

_BASE: Place = ("none", ())
_OF_SCALES = "listops"  # the one task of Tables 7, 12, 14 and 15

Seeds = Mapping[int, float]


def paper_tables(runs: Table) -> tuple[PaperTable, ...]:
    """All seven, from the table of runs."""
    accuracy = scores_of(runs)
    found = {task: of_places(accuracy, task) for task in TASKS}
    scales = found[_OF_SCALES]
    seconds = of_places(scores_of(runs, "step_seconds"), _OF_SCALES)
    return (
        _averages(found),
        _scales(scales),
        _accuracies(found),
        _gains(found),
        _scale_gains(scales),
        _overheads(seconds),
        _deviations(scales),
    )


def _single(position: str) -> Place:
    return _BASE if position == _BASE[0] else (position, (1,))


def _seeds(found: Mapping[Place, Seeds], place: Place) -> Seeds:
    return found.get(place, {})


def _mean(seeds: Seeds) -> Estimate:
    return estimate(list(seeds.values()))


def _average(found: Mapping[str, Mapping[Place, Seeds]], place: Place) -> Seeds:
    """The mean over these tasks, of the seeds that all of them have."""
    parts = [_seeds(places, place) for places in found.values()]
    common = set.intersection(*(set(part) for part in parts)) if parts else set[int]()
    return {seed: sum(part[seed] for part in parts) / len(parts) for seed in sorted(common)}


def _averages(found: Mapping[str, Mapping[Place, Seeds]]) -> PaperTable:
    run = {task: places for task, places in found.items() if places}
    names = ", ".join(TASKS[task] for task in run) or "none"
    numbers = [k for k, task in enumerate(TASKS) if task in run]
    rows = {}
    for position, printed in sorted(AVERAGE.items(), key=lambda item: -item[1]):
        place = _single(position)
        paper = [ACCURACY[position][k] for k in numbers]
        rows[POSITIONS[position]] = (
            Cell(_mean(_average(found, place)), printed),
            Cell(_mean(_average(run, place)), sum(paper) / len(paper) if paper else None),
        )
    columns = ("Avg. Accuracy", f"Average of the tasks run ({names})")
    return PaperTable(6, "Average accuracy by position", columns, rows)


def _accuracies(found: Mapping[str, Mapping[Place, Seeds]]) -> PaperTable:
    rows = {}
    for position, title in POSITIONS.items():
        place = _single(position)
        cells = [
            Cell(_mean(_seeds(found[task], place)), printed)
            for task, printed in zip(TASKS, ACCURACY[position], strict=True)
        ]
        average = Cell(_mean(_average(found, place)), AVERAGE[position])
        rows[title] = (*cells, average)
    columns = (*TASKS.values(), "Average")
    return PaperTable(10, "Accuracy by position and task", columns, rows)


def _gains(found: Mapping[str, Mapping[Place, Seeds]]) -> PaperTable:
    rows = {
        title: tuple(
            cell for k, task in enumerate(TASKS) for cell in _gain(found[task], position, k)
        )
        for position, title in POSITIONS.items()
        if position != _BASE[0]
    }
    columns = [f"{title} {kind}" for title in TASKS.values() for kind in ("Δ", "%")]
    return PaperTable(11, "Gains over the baseline", tuple(columns), rows)


def _gain(found: Mapping[Place, Seeds], position: str, number: int) -> tuple[Cell, Cell]:
    """The difference, and in percent of the baseline of the same seed."""
    base, ours = _seeds(found, _BASE), _seeds(found, _single(position))
    printed, printed_base = ACCURACY[position][number], ACCURACY[_BASE[0]][number]
    change = printed - printed_base
    return (
        Cell(estimate(paired(ours, base)), change, signed=True),
        Cell(_percent(ours, base), 100 * change / printed_base, signed=True, digits=2),
    )


def _percent(ours: Seeds, base: Seeds) -> Estimate:
    """Seed by seed; nothing where a baseline is 0."""
    seeds = sorted(ours.keys() & base.keys())
    if not all(base[seed] for seed in seeds):
        return Estimate(0)
    return estimate([100 * (ours[seed] / base[seed] - 1) for seed in seeds])


def _scales(found: Mapping[Place, Seeds]) -> PaperTable:
    rows = {POSITIONS[position]: _of_scales(found, position) for position in SCALE_ACCURACY}
    return PaperTable(7, "Accuracy by scale on ListOps", tuple(SCALES.values()), rows)


def _of_scales(found: Mapping[Place, Seeds], position: str) -> tuple[Cell, ...]:
    printed = zip(SCALES, SCALE_ACCURACY[position], strict=True)
    return tuple(Cell(_mean(_seeds(found, (position, scale))), one) for scale, one in printed)


def _scale_gains(found: Mapping[Place, Seeds]) -> PaperTable:
    """Table 7 with the best single scale and the gain over it, and all over the baseline."""
    rows: dict[str, tuple[Cell, ...]] = {}
    for position in SCALE_ACCURACY:
        rows[POSITIONS[position]] = (*_of_scales(found, position), *_best(found, position))
    base, printed_base = _seeds(found, _BASE), ACCURACY[_BASE[0]][0]
    for position, printed in SCALE_ACCURACY.items():
        cells = [
            Cell(estimate(paired(_seeds(found, (position, scale)), base)), one - printed_base,
                 signed=True)
            for scale, one in zip(SCALES, printed, strict=True)
        ]  # fmt: skip
        rows[f"{POSITIONS[position]}, over the baseline"] = tuple(cells)
    columns = (*SCALES.values(), "Best single", "Multi-scale gain")
    return PaperTable(12, "Scales on ListOps, and the gain of several", columns, rows)


def _best(found: Mapping[Place, Seeds], position: str) -> tuple[Cell, Cell]:
    *single, several = SCALE_ACCURACY[position]
    *narrow, wide = (_seeds(found, (position, scale)) for scale in SCALES)
    best = _highest(narrow)
    return (
        Cell(_mean(best), max(single)),
        Cell(estimate(paired(wide, best)), several - max(single), signed=True),
    )


def _highest(arms: Sequence[Seeds]) -> Seeds:
    """The arm of the highest mean; none before all of them were run."""
    if not all(arms):
        return {}
    return max(arms, key=lambda seeds: sum(seeds.values()) / len(seeds))


def _overheads(seconds: Mapping[Place, Seeds]) -> PaperTable:
    base = _seeds(seconds, _BASE)
    rows = {
        f"{POSITIONS[position]}, {SCALES[scale]}": (
            Cell(_percent(_seeds(seconds, (position, scale)), base), time, signed=True, digits=1),
            Cell(Estimate(0), memory, signed=True, digits=1),
        )
        for (position, scale), (time, memory) in OVERHEAD.items()
    }
    columns = ("Time OH (%)", "Mem. OH (%)")
    return PaperTable(14, "Cost on ListOps above the baseline", columns, rows)


def _deviations(found: Mapping[Place, Seeds]) -> PaperTable:
    rows = {}
    for position, deviation in DEVIATION.items():
        ours = _mean(_seeds(found, _single(position)))
        spread = Estimate(ours.n if ours.deviation is not None else 0, ours.deviation)
        rows[POSITIONS[position]] = (Cell(ours, ACCURACY[position][0]), Cell(spread, deviation))
    columns = ("Accuracy", "Std. dev.")
    return PaperTable(15, "Spread over seeds on ListOps", columns, rows)
