"""Covariance ellipses, read back from the axes."""

from typing import Any

import numpy as np
import pytest
import torch

from vlasov.errors import InvalidValue
from vlasov.plots import ellipses


def _outlines(ax) -> Any:
    return [line.get_xydata() for line in ax.lines if len(line.get_xydata()) == 181]


def test_the_outline_lies_at_r_standard_deviations(shrinking, figure):
    run = shrinking(n=200)
    ax: Any = ellipses(run, figure.add_subplot(), deviations=1.5)
    outlines = _outlines(ax)
    assert len(outlines) == 5
    for outline, x in zip(outlines, run.points.numpy(), strict=True):
        moved = outline - x.mean(axis=0)
        cov = np.cov(x.T, bias=True)
        size = np.einsum("ki,ij,kj->k", moved, np.linalg.inv(cov), moved)
        np.testing.assert_allclose(size, 1.5**2)


def test_weights_count(make_run, figure):
    x = torch.tensor([[[0.0, 0.0], [4.0, 0.0], [2.0, 1.0], [2.0, -1.0]]], dtype=torch.float64)
    weights = torch.tensor([0.1, 0.3, 0.3, 0.3], dtype=torch.float64)
    ax: Any = ellipses(make_run(x, log_weights=weights.log()), figure.add_subplot())
    np.testing.assert_allclose(_outlines(ax)[0][:-1].mean(axis=0), [2.4, 0.0], atol=1e-12)


def test_the_path_of_the_mean(shrinking, figure):
    run = shrinking()
    ax: Any = ellipses(run, figure.add_subplot())
    np.testing.assert_allclose(ax.lines[0].get_xydata(), run.points.mean(dim=-2).numpy())


def test_six_frames_are_named_by_their_times(shrinking, figure):
    ax: Any = ellipses(shrinking(frames=51), figure.add_subplot())
    names = [text.get_text() for text in ax.get_legend().get_texts()]
    assert names == ["$t = 0$", "$t = 0.2$", "$t = 0.4$", "$t = 0.6$", "$t = 0.8$", "$t = 1$"]
    assert [text.get_text() for text in ax.texts] == ["2 standard deviations"]


@pytest.mark.parametrize("d", [3, 7])
def test_more_coordinates_are_projected(shrinking, figure, d):
    ax: Any = ellipses(shrinking(d=d), figure.add_subplot())
    assert ax.get_xlabel().startswith("PC 1 (")


def test_frames_near_a_blow_up_are_left_out(make_run, figure):
    x = torch.randn(6, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    ax: Any = ellipses(make_run(torch.stack([x, 4 * x, 1e9 * x])), figure.add_subplot())
    assert len(_outlines(ax)) == 2


def test_tokens_on_a_line_of_the_plane_have_a_flat_ellipse(make_run, figure):
    x = torch.arange(5.0, dtype=torch.float64)[:, None] * torch.tensor([1.0, 3.0])
    outline = _outlines(ellipses(make_run(x[None]), figure.add_subplot()))[0]
    np.testing.assert_allclose(outline[:, 1], 3 * outline[:, 0], atol=1e-6)


def test_what_has_no_ellipse_is_refused(shrinking, figure):
    with pytest.raises(InvalidValue, match="needs two coordinates but the tokens lie on a line"):
        ellipses(shrinking(d=1), figure.add_subplot())
    with pytest.raises(InvalidValue, match="An ellipse needs flat axes but got 3-D"):
        ellipses(shrinking(), figure.add_subplot(projection="3d"))


@pytest.mark.parametrize("deviations", [0.0, -1.0, float("nan"), float("inf")])
def test_sizes_that_are_not_positive_are_refused(shrinking, figure, deviations):
    with pytest.raises(InvalidValue, match="must be positive and finite"):
        ellipses(shrinking(), figure.add_subplot(), deviations=deviations)
