"""The pictures of `vlasov reduce` and `vlasov phase`, read back from their axes."""

import numpy as np
import pytest
import torch

from vlasov.experiments.experiment import Context
from vlasov.experiments.phase_config import PhaseConfig
from vlasov.experiments.phase_run import PHASE
from vlasov.experiments.reduce_config import ReduceConfig
from vlasov.experiments.reduce_run import REDUCE
from vlasov.plots.outline import outline
from vlasov.plots.phase_report import pictures as phase_pictures
from vlasov.plots.reduce_report import pictures as law_pictures


def _law(**settings):
    report = REDUCE.prepare(ReduceConfig(**settings))(Context())
    return report, law_pictures(report, {})["law"].axes


def _phase(**settings):
    report = PHASE.prepare(PhaseConfig(**settings))(Context())
    return report, phase_pictures(report, {})["phase"].axes


def _words(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_an_outline_is_where_the_exponent_is_constant():
    generator = torch.Generator().manual_seed(0)
    factor = torch.randn(2, 2, generator=generator, dtype=torch.float64).numpy()
    mean, cov = np.array([1.0, -2.0]), factor @ factor.T
    away = outline(mean, cov, 2.0) - mean[:, None]
    exponent = np.einsum("ik,ij,jk->k", away, np.linalg.inv(cov), away)
    np.testing.assert_allclose(exponent, 4.0, rtol=1e-9)


def test_an_outline_of_rank_one_is_a_segment():
    axis = np.array([0.6, 0.8])
    points = outline(np.zeros(2), np.outer(axis, axis), 1.0)
    assert np.abs(0.8 * points[0] - 0.6 * points[1]).max() < 1e-7  # a root of rounding


def test_eigenvalues_the_closed_form_and_the_blow_up_are_drawn():
    report, (_, ax) = _law(exact=True, frames=11)
    first, second = (line.get_ydata() for line in ax.lines[:2])
    assert list(first) == report.tables["law"].column("eigenvalue_1")
    assert list(second) == report.tables["law"].column("eigenvalue_2")
    assert ax.get_yscale() == "log"
    assert ax.lines[-1].get_xdata()[0] == report.result["blow_up_time"]
    assert "closed form" in _words(ax)
    assert any("t^*" in word for word in _words(ax))


def test_ellipses_that_would_hide_the_rest_are_left_out():
    _, (ax, _) = _law(frames=101)
    widest = max(np.abs(line.get_ydata()).max() for line in ax.lines)
    assert widest <= 2.0 * 4.0
    assert len(_words(ax)) > 3
    assert _words(ax)[0] == "$t = 0$"


@pytest.mark.parametrize("d", [1, 4])
def test_other_widths_have_a_picture_of_their_own(d):
    _, (ax, spectrum) = _law(d=d, query="-1", time=30.0, frames=5)
    assert ax.get_xlabel() == ("time $t$ (layers × step)" if d == 1 else "leading axis")
    assert len(spectrum.lines) == d


def test_a_diagram_colours_cells_by_outcome():
    report, (ax, times) = _phase(x="a1=-1:1:3", y="a2=-1:1:4", time=2000.0)
    codes = np.ma.asarray(ax.collections[0].get_array()).ravel().astype(int)
    column = report.tables["cells"].column("blow_up_time")
    drawn = np.ma.asarray(times.collections[0].get_array()).ravel()
    for code, time, shown in zip(codes, column, drawn, strict=True):
        assert _words(ax)[code].startswith("converged" if time is None else "blow-up")
        assert shown is np.ma.masked if time is None else shown == time
    assert (ax.get_xlabel(), ax.get_ylabel()) == (
        "first eigenvalue of A",
        "other eigenvalues of A",
    )


def test_one_parameter_is_drawn_against_the_trace():
    report, axes = _phase(x="scale=0.1:10:4:log", query="-1", time=5.0)
    (ax,) = axes
    offsets = np.asarray(ax.collections[0].get_offsets())
    assert offsets[:, 1].tolist() == pytest.approx(report.tables["cells"].column("trace"))
    assert ax.get_xscale() == "log"


def test_draws_are_bars_with_their_shares():
    report, (ax, _) = _phase(random=12, ensemble="normal", time=5.0)
    widths = [bar.get_width() for bar in ax.patches]
    assert widths == report.tables["outcomes"].column("share")
    assert sum(widths) == pytest.approx(1.0)
