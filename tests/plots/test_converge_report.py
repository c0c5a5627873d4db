"""The pictures of a convergence study, read back from their axes."""

import numpy as np
import pytest

from vlasov.experiments.report import Report, Table
from vlasov.plots.converge_report import pictures

NS = (50.0, 100.0, 200.0)
NAMES = ("coupling", "mean", "covariance", "observable", "distance")


@pytest.fixture
def report():
    slopes = Table.of_columns(
        {
            "error": NAMES,
            "slope": [-0.5] * 5,
            "low": [-0.52] * 5,
            "high": [-0.48] * 5,
            "intercept": [0.0] * 5,
            "steepest": [-0.5] * 5,
            "flattest": [-0.5] * 4 + [-0.3],
        }
    )
    rows = tuple((name, n, n**-0.5, 0.9 * n**-0.5, 1.1 * n**-0.5) for name in NAMES for n in NS)
    errors = Table(("error", "n", "value", "low", "high"), rows)
    readings = {"journey": [3.0, 2.0, 1.5], "moment_journey": [1.1, 1.0, 1.0]}
    journey = Table.of_columns({"n": NS, **readings, "exact": [0.9] * 3})
    tables = {"slopes": slopes, "errors": errors, "journey": journey}
    return Report({"status": "finished", "distance_to": "the limit"}, tables)


def test_errors_fits_and_rates_are_drawn(report):
    found = pictures(report, {"p": 1.0, "time": 0.5})
    left, right = found["convergence"].axes
    assert left.get_xscale() == left.get_yscale() == "log"
    fit, value, low, high = right.get_lines()[0], right.get_lines()[1], *right.get_lines()[2:4]
    assert np.allclose(value.get_xdata(), NS)
    assert np.allclose(value.get_ydata(), np.array(NS) ** -0.5)
    assert np.allclose(fit.get_ydata(), value.get_ydata())
    assert np.allclose(low.get_ydata(), fit.get_ydata())  # the steeper of the two rates
    assert high.get_ydata()[-1] == pytest.approx(50.0**-0.5 * 4**-0.3)
    labels = [text.get_text() for text in left.get_legend().get_texts()]
    assert len(labels) == 5
    assert all(r"-0.500 \pm 0.020" in label for label in labels[:4])
    assert labels[4] == "expected rate $n^{-1/2}$"
    assert right.get_legend().get_texts()[1].get_text() == "expected rate"
    assert "W_1" in right.get_ylabel()
    assert right.get_xticks().tolist() == list(NS)


def test_many_decades_are_marked_by_powers_of_ten(report):
    table = report.tables["errors"]
    far = tuple((name, n, n**-0.5, n**-0.5, n**-0.5) for name in NAMES for n in (1e3, 2e4, 1e6))
    tables = report.tables | {"errors": Table(table.columns, far)}
    figure = pictures(Report(report.result, tables), {"p": 1.0, "time": 1.0})["convergence"]
    figure.draw_without_rendering()
    for axis in (axis for ax in figure.axes for axis in (ax.xaxis, ax.yaxis)):
        low, high = axis.get_view_interval()
        words = [text.get_text() for text in axis.get_ticklabels()]
        inside = [k for k in range(-6, 8) if low <= 10.0**k <= high]
        assert len(inside) >= 2
        assert all(any(f"{{{k}}}" in word for word in words) for k in inside)
        assert {text.get_math_fontfamily() for text in axis.get_ticklabels()} == {"stix"}


def test_the_bias_is_drawn_beside_the_truth(report):
    (axes,) = pictures(report, {"p": 1.0, "time": 0.5})["bias"].axes
    transport, moments, exact = axes.get_lines()
    assert transport.get_ydata().tolist() == [3.0, 2.0, 1.5]
    assert moments.get_ydata().tolist() == [1.1, 1.0, 1.0]
    assert set(exact.get_ydata()) == {0.9}


def test_without_wide_tokens_there_is_one_picture(report):
    tables = {name: report.tables[name] for name in ("slopes", "errors")}
    assert set(pictures(Report(report.result, tables), {"p": 2.0, "time": 1.0})) == {"convergence"}
