r"""Outlines of planar covariances over time.

.. math:: \{x : x^T \Sigma^{-1} x = 1\} = \Sigma^{1/2} S^1
"""

__all__ = ["outlines"]

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes

from vlasov.experiments.report import Report
from vlasov.plots.outline import outline
from vlasov.plots.style import dress, require_flat


def outlines(report: Report, panel: str, ax: Axes) -> Axes:
    """Draw the ellipse of one standard deviation at each time of a panel, early ones dark.

    Raises:
        InvalidValue: for 3-D axes.
    """
    require_flat(ax, wanted="An ellipse")
    times, covs = report.arrays[f"{panel}_times"].tolist(), report.arrays[f"{panel}_cov"].numpy()
    for t, cov, shade in zip(times, covs, np.linspace(0.0, 0.85, len(covs)), strict=True):
        curve = outline(np.zeros(2), cov, 1.0)
        ax.plot(*curve, color=colormaps["viridis"](shade), lw=1.3, label=_label(report, panel, t))
    ax.set_aspect("equal", adjustable="datalim")
    ax.margins(0.08)
    ax.set(xlabel="$x_1$", ylabel="$x_2$")
    ax.legend(
        frameon=False, loc="upper center", bbox_to_anchor=(0.5, -0.18), ncols=3, handlelength=1.2
    )
    return dress(ax)


def _label(report: Report, panel: str, t: float) -> str:
    """The time; near a blow-up as a share of its time."""
    if panel == "blow-up" and t > 0:
        return f"$t = {t / report.result['blow_up_time']:.2g}\\,t^*$"
    return f"$t = {t:.0f}$" if t >= 1e3 else f"$t = {t:g}$"
