"""The pictures of `vlasov train`, from whatever runs there are."""

__all__ = ["pictures"]

from collections.abc import Mapping
from typing import Any

from matplotlib.figure import Figure

from vlasov.experiments.report import Report
from vlasov.plots.lra_accuracies import accuracy_page
from vlasov.plots.lra_curves import curve_page
from vlasov.plots.lra_gains import gain_page, scale_page
from vlasov.plots.lra_response import response_page


def pictures(report: Report, settings: Mapping[str, Any]) -> dict[str, Figure]:
    """Accuracies by position, gains, scales, learned responses and training curves.

    A page without anything to show is left out.
    """
    pages = {
        "accuracy": accuracy_page(report) if report.tables["runs"].rows else None,
        "gains": gain_page(report),
        "scales": scale_page(report),
        "response": response_page(report),
        "training": curve_page(report),
    }
    return {name: figure for name, figure in pages.items() if figure is not None}
