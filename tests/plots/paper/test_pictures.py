"""Pictures of the paper's figures, read back from the axes."""

import numpy as np
import pytest
import torch
from matplotlib.collections import LineCollection
from mpl_toolkits.mplot3d import Axes3D
from mpl_toolkits.mplot3d.art3d import Line3DCollection, Poly3DCollection

from vlasov.errors import InvalidValue
from vlasov.experiments.paper import figure
from vlasov.experiments.paper.ranks import Ranks
from vlasov.experiments.paper.request import Request
from vlasov.experiments.report import Report, Table
from vlasov.plots import new_figure
from vlasov.plots.paper import paper_pictures
from vlasov.plots.paper.cones import cone
from vlasov.plots.paper.discs import disc
from vlasov.plots.paper.keys import OUTCOMES
from vlasov.plots.paper.outlines import outlines


def _walks(view, panels, generator):
    """A report written by hand: four paths in each panel, and two expected lines."""
    arrays, rows = {}, []
    kinds = {"softmax": "blow-up", "l2": "exponential divergence", "two-head": "converged"}
    for panel in panels:
        paths = torch.rand(6, 4, 3, generator=generator, dtype=torch.float64) / 20
        paths[..., 2] = 1.0
        paths[-1, 0] = torch.nan
        paths[4:, 1, 0] -= 0.5
        arrays[f"{panel}_paths"] = paths
        arrays[f"{panel}_kinds"] = torch.full((4,), list(OUTCOMES).index(kinds[panel]))
        arrays[f"{panel}_lines"] = torch.eye(2, dtype=torch.float64)[: 2 * (panel != "two-head")]
        ends = paths[-2, :, :2].tolist()
        rows += [(panel, kinds[panel], *end) for end in ends]
    starts = Table(("panel", "outcome", "u_end", "w_end"), tuple(rows))
    result = {"view": view, "panels": panels, "figure": "by hand"}
    return Report(result, {"starts": starts, "counts": starts}, arrays)


def _drawn(report):
    (picture,) = paper_pictures(report).values()
    picture.draw_without_rendering()
    return picture, picture.axes


@pytest.mark.slow
def test_cones_hold_the_paths_and_the_expected_line():
    report = figure("to-line", size=3)
    _, axes = _drawn(report)
    assert [ax.get_title() for ax in axes] == ["softmax", "L2"]
    for ax, panel in zip(axes, report.result["panels"], strict=True):
        assert isinstance(ax, Axes3D)
        paths = report.arrays[f"{panel}_paths"].numpy()
        drawn = [c for c in ax.collections if isinstance(c, Line3DCollection)][1]
        np.testing.assert_array_equal(np.asarray(drawn._segments3d), paths.transpose(1, 0, 2))
        line = np.array(ax.lines[0].get_data_3d())[:, -1]
        assert line[0] ** 2 + line[1] ** 2 == pytest.approx(line[2] ** 2)
        limit = paths[-1, 0]
        np.testing.assert_allclose(np.cross(limit, line), 0.0, atol=1e-4)


def test_the_plane_of_limits_is_a_sheet_inside_the_cone():
    report = figure("to-plane", size=2)
    _, (ax,) = _drawn(report)
    (sheet,) = [c for c in ax.collections if isinstance(c, Poly3DCollection)]
    corners = np.asarray(sheet._faces)[0]
    np.testing.assert_allclose(corners @ report.arrays["plane"].numpy(), 0.0, atol=1e-12)
    radii = np.hypot(corners[:, 0], corners[:, 1])
    np.testing.assert_allclose(radii, corners[:, 2], atol=1e-12)


def test_discs_hold_shapes_and_the_legend_names_outcomes(generator):
    report = _walks("disc", ["softmax", "l2", "two-head"], generator)
    picture, axes = _drawn(report)
    for ax, panel in zip(axes, report.result["panels"], strict=True):
        paths = report.arrays[f"{panel}_paths"]
        drawn = [c.get_segments() for c in ax.collections if isinstance(c, LineCollection)]
        first = np.stack([segments[0][0] for segments in drawn])
        np.testing.assert_allclose(first, (paths[0, :, :2] / paths[0, :, 2:]).numpy())
        # The first path ends early; the second jumps, and no chord is drawn.
        assert [[len(x) for x in segments] for segments in drawn] == [[5], [4, 2], [6], [6]]
        marks = sum(line.get_marker() == "D" for line in ax.lines)
        assert marks == (0 if panel == "two-head" else 2)
    names = [text.get_text() for text in picture.legends[0].get_texts()]
    assert names == ["start", "limit", "blow-up", "exponential divergence", "lines expected"]


def test_bars_are_the_counts():
    recipe = Ranks(values=("identity",), dimensions=(3,))
    report = recipe.report(Request(size=10))
    named = Report({**report.result, "figure": "ranks"}, report.tables)
    _, (ax,) = _drawn(named)
    table = report.tables["counts"]
    counts = {(row[0], row[4]): row[5] for row in table.rows if row[3]}
    labels = [label.get_text() for label in ax.get_xticklabels()]
    assert labels == ["1", "2", "3", "not yet"]
    for bars, name in zip(ax.containers, ("softmax", "l2"), strict=True):
        heights = [bar.get_height() for bar in bars]
        assert heights[:3] == [counts.get((name, rank), 0) for rank in (1, 2, 3)]
        assert sum(heights) == 10
    assert ax.lines[0].get_xdata()[0] == 1.5  # between 2 and 3, with 1 at place 0


def test_outlines_are_those_of_the_covariances():
    report = figure("ellipses")
    _, axes = _drawn(report)
    for ax, panel in zip(axes, report.result["panels"], strict=True):
        assert len(ax.lines) == 6
        points = torch.tensor(ax.lines[1].get_xydata())
        inverse = report.arrays[f"{panel}_cov"][1].inverse()
        size = (points @ inverse * points).sum(-1)
        torch.testing.assert_close(size, torch.ones_like(size))
    labels = [text.get_text() for text in axes[1].get_legend().get_texts()]
    assert labels[:2] == ["$t = 0$", "$t = 0.4\\,t^*$"]


def test_wrong_axes_are_refused(generator):
    report = _walks("disc", ["softmax"], generator)
    with pytest.raises(InvalidValue, match="cone needs 3-D axes"):
        cone(report, "softmax", new_figure().add_subplot())
    solid = new_figure().add_subplot(projection="3d")
    with pytest.raises(InvalidValue, match="A disc needs flat axes"):
        disc(report, "softmax", solid)
    with pytest.raises(InvalidValue, match="An ellipse needs flat axes"):
        outlines(report, "softmax", solid)
