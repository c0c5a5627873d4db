"""Pictures of runs: each function takes a run and axes, and returns the axes.

Importing this package loads matplotlib but not its pyplot, and chooses no backend.
"""

from vlasov.plots.animation import check_writer, save_animation
from vlasov.plots.clouds import cloud
from vlasov.plots.ellipses import ellipses
from vlasov.plots.heatmap import attention_heatmap
from vlasov.plots.html import check_page, save_page
from vlasov.plots.observables import observables
from vlasov.plots.projection import Scene, project
from vlasov.plots.reports import save_report
from vlasov.plots.save import save_figure
from vlasov.plots.stage import axes_for
from vlasov.plots.style import new_figure
from vlasov.plots.summary import summary_figure
from vlasov.plots.trajectories import trajectories

__all__ = [
    "Scene",
    "attention_heatmap",
    "axes_for",
    "check_page",
    "check_writer",
    "cloud",
    "ellipses",
    "new_figure",
    "observables",
    "project",
    "save_animation",
    "save_figure",
    "save_page",
    "save_report",
    "summary_figure",
    "trajectories",
]
