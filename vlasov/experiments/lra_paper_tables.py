"""Tables 6, 7, 10, 11, 12, 14 and 15 of the paper from the runs there are, its numbers beside.

A cell is the mean over the seeds, of differences over the seeds that both arms have; it is empty
where nothing was run. Positions are those with a diffusion of scale 1, as in the paper.
"""

__all__ = ["paper_tables"]

from collections.abc import Mapping

from vlasov.experiments.lra_paper_cells import Cell, PaperTable
from vlasov.experiments.lra_paper_scales import scale_gain_table, scale_table
from vlasov.experiments.lra_published import (
    ACCURACY,
    AVERAGE,
    DEVIATION,
    OVERHEAD,
    POSITIONS,
    SCALES,
    TASKS,
)
from vlasov.experiments.lra_scores import BASE, Place, Seeds, of_places, scores_of, seeds_at
from vlasov.experiments.lra_statistics import Estimate, accuracy_of, estimate, paired
from vlasov.experiments.report import Table

_OF_SCALES = "listops"  # the one task of Tables 7, 12, 14 and 15


def paper_tables(runs: Table) -> tuple[PaperTable, ...]:
    """All seven, from the table of runs."""
    accuracy = scores_of(runs)
    found = {task: of_places(accuracy, task) for task in TASKS}
    scales = found[_OF_SCALES]
    costs = [of_places(scores_of(runs, name), _OF_SCALES) for name in ("step_seconds", "memory")]
    return (
        _averages(found),
        scale_table(scales),
        _accuracies(found),
        _gains(found),
        scale_gain_table(scales),
        _overheads(*costs),
        _deviations(scales),
    )


def _single(position: str) -> Place:
    return BASE if position == BASE[0] else (position, (1,))


def _average(found: Mapping[str, Mapping[Place, Seeds]], place: Place) -> Seeds:
    """The mean over these tasks, of the seeds that all of them have."""
    parts = [seeds_at(places, place) for places in found.values()]
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
            Cell(accuracy_of(_average(found, place)), printed),
            Cell(accuracy_of(_average(run, place)), sum(paper) / len(paper) if paper else None),
        )
    columns = ("Avg. Accuracy", f"Average of the tasks run ({names})")
    return PaperTable(6, "Average accuracy by position", columns, rows)


def _accuracies(found: Mapping[str, Mapping[Place, Seeds]]) -> PaperTable:
    rows = {}
    for position, title in POSITIONS.items():
        place = _single(position)
        cells = [
            Cell(accuracy_of(seeds_at(found[task], place)), printed)
            for task, printed in zip(TASKS, ACCURACY[position], strict=True)
        ]
        average = Cell(accuracy_of(_average(found, place)), AVERAGE[position])
        rows[title] = (*cells, average)
    columns = (*TASKS.values(), "Average")
    return PaperTable(10, "Accuracy by position and task", columns, rows)


def _gains(found: Mapping[str, Mapping[Place, Seeds]]) -> PaperTable:
    rows = {
        title: tuple(
            cell for k, task in enumerate(TASKS) for cell in _gain(found[task], position, k)
        )
        for position, title in POSITIONS.items()
        if position != BASE[0]
    }
    columns = [f"{title} {kind}" for title in TASKS.values() for kind in ("Δ", "%")]
    return PaperTable(11, "Gains over the baseline", tuple(columns), rows)


def _gain(found: Mapping[Place, Seeds], position: str, number: int) -> tuple[Cell, Cell]:
    """The difference, and in percent of the baseline of the same seed."""
    base, ours = seeds_at(found, BASE), seeds_at(found, _single(position))
    printed, printed_base = ACCURACY[position][number], ACCURACY[BASE[0]][number]
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


def _overheads(seconds: Mapping[Place, Seeds], memory: Mapping[Place, Seeds]) -> PaperTable:
    rows = {
        f"{POSITIONS[position]}, {SCALES[scale]}": tuple(
            Cell(_percent(seeds_at(cost, (position, scale)), seeds_at(cost, BASE)), printed,
                 signed=True, digits=1)
            for cost, printed in zip((seconds, memory), printed_costs, strict=True)
        )
        for (position, scale), printed_costs in OVERHEAD.items()
    }  # fmt: skip
    columns = ("Time OH (%)", "Mem. OH (%)")
    return PaperTable(14, "Cost on ListOps above the baseline", columns, rows)


def _deviations(found: Mapping[Place, Seeds]) -> PaperTable:
    rows = {}
    for position, deviation in DEVIATION.items():
        ours = accuracy_of(seeds_at(found, _single(position)))
        spread = Estimate(ours.n if ours.deviation is not None else 0, ours.deviation)
        rows[POSITIONS[position]] = (Cell(ours, ACCURACY[position][0]), Cell(spread, deviation))
    columns = ("Accuracy", "Std. dev.")
    return PaperTable(15, "Spread over seeds on ListOps", columns, rows)
