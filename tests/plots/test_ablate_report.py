"""The pages of an ablation, read back from their axes."""

import dataclasses
import functools

import numpy as np
import pytest

from vlasov.experiments.ablate_config import AblateConfig
from vlasov.experiments.ablate_run import ABLATE
from vlasov.experiments.experiment import Context
from vlasov.plots.ablate_report import pictures


@functools.cache
def drawn():
    """A report and its pages, once for all tests."""
    config = AblateConfig(
        width=8, n=6, depth=(2, 3), seeds=1, substeps=1, mlp=("relu",), residuals=("on", "0.5")
    )
    report = ABLATE.prepare(config)(Context())
    return report, pictures(report, dataclasses.asdict(config))


def test_each_depth_has_a_page_whose_lines_are_the_means():
    report, figures = drawn()
    assert set(figures) == {"ablation-depth-2", "ablation-depth-3"}
    table = report.tables["ablation"]
    rows = [dict(zip(table.columns, row, strict=True)) for row in table.rows]
    page = [row for row in rows if row["depth"] == 3]
    norms = figures["ablation-depth-3"].axes[0]
    networks = list(dict.fromkeys((row["scheme"], row["residual"]) for row in page))
    assert len(norms.get_lines()) == len(networks) == 7
    for line, (scheme, residual) in zip(norms.get_lines(), networks, strict=True):
        means = [r["norm"] for r in page if (r["scheme"], r["residual"]) == (scheme, residual)]
        assert np.asarray(line.get_ydata()).tolist() == pytest.approx(means)


def test_names_are_in_the_legend_and_every_panel_says_what_it_shows():
    figure = drawn()[1]["ablation-depth-2"]
    names = [text.get_text() for text in figure.legends[0].get_texts()]
    assert names[:3] == ["no norm", "pre", "post"]
    assert names[3:] == ["residual", "residual 0.5", "PDE, same weights"]
    labels = [ax.get_ylabel() for ax in figure.axes]
    assert len(labels) == len(set(labels)) == 9
    assert all(labels)
    assert "mean of 1 seed, 95 % bands" in figure.get_suptitle()


def test_gradients_near_the_largest_float_are_drawn():
    report, _ = drawn()
    table = report.tables["ablation"]
    layer, gradient = (table.columns.index(name) for name in ("layer", "gradient"))
    rows = tuple(
        (*row[:gradient], *[1e300] * 3, *row[gradient + 3 :]) if row[layer] == 0 else row
        for row in table.rows
    )
    tables = {**report.tables, "ablation": dataclasses.replace(table, rows=rows)}
    figures = pictures(dataclasses.replace(report, tables=tables), {"attention": "softmax"})
    for figure in figures.values():
        figure.canvas.draw()
        assert figure.axes[3].get_ylim()[1] > 1e100


def test_limits_are_drawn_where_they_are_known():
    report, _ = drawn()
    table = report.tables["ablation"]
    place = {name: k for k, name in enumerate(table.columns)}

    def doubtful(row):
        """Small steps disagree at layer 1 for `pre`, and at layer 2 for the PDE."""
        first = {"pre": 1, "pde": 2}.get(row[place["scheme"]])
        cells = list(row)
        if row[place["layer"]] == first:
            cells[place["limit_agreement"]] = 0.9
        return tuple(cells)

    tables = {"ablation": dataclasses.replace(table, rows=tuple(map(doubtful, table.rows)))}
    figures = pictures(dataclasses.replace(report, tables=tables), {"attention": "softmax"})
    *_, limits, pdes = figures["ablation-depth-3"].axes
    keys = list(dict.fromkeys((row[2], row[3]) for row in table.rows))
    for (scheme, _), line in zip(keys, limits.get_lines(), strict=True):
        known = 1 if scheme == "pre" else 0 if scheme == "pde" else 4
        assert np.isfinite(line.get_ydata()).sum() == known
    assert all(np.isfinite(line.get_ydata()).sum() in (0, 2) for line in pdes.get_lines())
    for ax in (limits, pdes):
        assert "where the limit is known" in [text.get_text() for text in ax.texts]
    whole = drawn()[1]["ablation-depth-3"].axes[-2]
    assert "where the limit is known" not in [text.get_text() for text in whole.texts]
