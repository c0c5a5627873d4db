"""The pictures of an experiment's report, by the name of the experiment."""

__all__ = ["PICTURES", "Pictures", "save_report"]

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from vlasov.experiments.report import Report
from vlasov.plots import (
    ablate_report,
    bench_report,
    converge_report,
    diffuse_report,
    energy_report,
    lra_report,
    phase_report,
    reduce_report,
)
from vlasov.plots.save import save_figure

Pictures = Callable[[Report, Mapping[str, Any]], Mapping[str, Figure]]
"""From a report and its settings to figures by file name without suffix."""

PICTURES: Mapping[str, Pictures] = {
    "ablate": ablate_report.pictures,
    "bench": bench_report.pictures,
    "converge": converge_report.pictures,
    "diffuse": diffuse_report.pictures,
    "energy": energy_report.pictures,
    "phase": phase_report.pictures,
    "reduce": reduce_report.pictures,
    "train": lra_report.pictures,
}


def save_report(
    experiment: str, report: Report, settings: Mapping[str, Any], folder: Path
) -> list[Path]:
    """Draw a report into a folder; the paths written. An interrupted one has no pictures."""
    if experiment not in PICTURES or report.result.get("status") == "interrupted":
        return []
    figures = PICTURES[experiment](report, settings)
    return [save_figure(figure, folder / f"{name}.png") for name, figure in figures.items()]
