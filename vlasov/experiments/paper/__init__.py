"""The figures of Castin, Ablin, Carrillo and Peyré (2025), computed again."""

from vlasov.experiments.paper.figures import FIGURES, figure, figure_report
from vlasov.experiments.paper.request import Request

__all__ = ["FIGURES", "Request", "figure", "figure_report"]
