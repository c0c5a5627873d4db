"""The pages of a training ablation, read back from their axes."""

import functools

import numpy as np
import pytest

from vlasov.experiments.report import Report, Table
from vlasov.plots.ablate_report import pictures
from vlasov.plots.ablate_training import best_rate
from vlasov.plots.save import save_figure

NETWORKS = (("none", "on"), ("pre", "on"), ("pre", "off"))
SETTINGS = {"attention": "softmax"}
CHANCE = 2.0


def report(*rates, lost=()):
    """A made-up report; `lost` are pairs of network and rate that diverge."""
    sweep, curves = [], []
    for k, network in enumerate(NETWORKS):
        for rate in rates:
            key, gone = (8, "relu", *network, rate), (k, rate) in lost
            last = None if gone else 1.5 + k + rate
            sweep.append((*key, last, last, last, int(gone)))
            for step in range(4):
                value = None if gone and step else 3.0 / (1 + step) + k
                curves.append((*key, step, 1, *(value,) * 9))
    names = ("depth", "mlp", "scheme", "residual", "rate")
    loss = ("last_loss", "last_loss_low", "last_loss_high", "diverged_seeds")
    bands = [f"{name}{end}" for name in ("loss", "gradient", "update_ratio")
             for end in ("", "_low", "_high")]  # fmt: skip
    return Report(
        {"task": "reverse", "chance": CHANCE, "samples": "1 seed"},
        {
            "sweep": Table((*names, *loss), tuple(sweep)),
            "training": Table((*names, "step", "finite_seeds", *bands), tuple(curves)),
        },
    )


@functools.cache
def swept():
    return pictures(report(0.1, 0.2, 0.3, lost=((0, 0.3),)), SETTINGS)["training"]


def test_curves_are_the_means_of_each_network_at_the_rate_in_the_title():
    axes = swept().axes
    assert len(axes) == 6
    assert "curves at rate 0.1" in swept().get_suptitle()
    for k, line in enumerate(axes[0].get_lines()[: len(NETWORKS)]):
        expected = [3.0 / (1 + step) + k for step in range(4)]
        assert np.asarray(line.get_ydata()).tolist() == pytest.approx(expected)
    labels = [ax.get_ylabel() for ax in axes[:4]]
    assert len(set(labels)) == 4


def test_the_sweep_marks_what_diverged():
    ax = swept().axes[4]
    crosses = [line for line in ax.get_lines() if line.get_marker() in ("x", "+")]
    assert [np.asarray(line.get_xdata()).tolist() for line in crosses] == [[0.3], [], []]
    losses = ax.get_lines()[0].get_ydata()
    assert np.asarray(losses)[:2].tolist() == pytest.approx([1.6, 1.7])
    assert np.isnan(np.asarray(losses)[2])


def test_no_two_networks_have_the_same_cross_and_the_legend_shows_it():
    figure = pictures(report(0.1, 0.2, lost=((1, 0.2), (2, 0.2))), SETTINGS)["training"]
    crosses = [line for line in figure.axes[4].get_lines() if line.get_marker() in ("x", "+")]
    looks = [(line.get_color(), line.get_marker()) for line in crosses]
    assert len(set(looks)) == len(NETWORKS)
    assert looks[1][0] == looks[2][0]  # both are pre-norm
    legend = figure.legends[0]
    marks = [handle.get_marker() for handle in legend.legend_handles]
    names = dict(zip((text.get_text() for text in legend.get_texts()), marks, strict=True))
    assert (names["residual"], names["no residual"]) == (looks[1][1], looks[2][1])
    alone = pictures(report(0.1), SETTINGS)["training"].legends[0]  # no sweep, no crosses
    assert not {handle.get_marker() for handle in alone.legend_handles} & {"x", "+"}


@pytest.mark.parametrize(("rates", "panels"), [((0.1,), 3), ((0.1, 0.2), 4)])
def test_no_panel_repeats_another(rates, panels):
    whole = report(*rates)
    result = {**whole.result, "chance": 50.0}  # all losses are close to chance or below
    figure = pictures(Report(result, whole.tables), SETTINGS)["training"]
    assert len(figure.axes) == panels
    assert all(ax.get_yscale() == "log" for ax in figure.axes)
    labels = [(ax.get_xlabel(), ax.get_ylabel()) for ax in figure.axes]
    assert len(set(labels)) == panels


def test_chance_is_a_line_and_the_close_panel_ends_just_above_it():
    for place in (0, 1, 4, 5):
        levels = [set(line.get_ydata()) for line in swept().axes[place].get_lines()]
        assert {CHANCE} in levels
    low, high = swept().axes[1].get_ylim()
    assert low < 3.0 / 4 < CHANCE < high < 1.2 * CHANCE


def test_one_rate_has_no_sweep():
    figure = pictures(report(0.1), SETTINGS)["training"]
    assert len(figure.axes) == 4
    assert ", rate 0.1," in figure.get_suptitle()


def test_the_rate_shown_is_the_best_where_nothing_diverged():
    assert best_rate(report(0.1, 0.2).tables["sweep"]) == 0.1
    assert best_rate(report(0.1, 0.2, lost=((2, 0.1),)).tables["sweep"]) == 0.2
    everywhere = report(0.2, 0.1, lost=((0, 0.1), (1, 0.2))).tables["sweep"]
    assert best_rate(everywhere) == 0.1


def test_a_study_in_which_everything_diverges_is_drawn(tmp_path):
    lost = [(k, rate) for k in range(len(NETWORKS)) for rate in (0.1, 0.2)]
    figure = pictures(report(0.1, 0.2, lost=lost), SETTINGS)["training"]
    save_figure(figure, tmp_path / "page.png")
    assert (tmp_path / "page.png").stat().st_size > 0


def test_losses_near_the_largest_float_are_drawn(tmp_path):
    huge = report(0.1, 0.2)
    tables = {
        name: Table(
            table.columns,
            tuple((*row[:5], *(1e300 * x if isinstance(x, float) else x for x in row[5:]))
                  for row in table.rows),
        )
        for name, table in huge.tables.items()
    }  # fmt: skip
    figure = pictures(Report(huge.result, tables), SETTINGS)["training"]
    save_figure(figure, tmp_path / "page.png")
    assert figure.axes[0].get_ylim()[1] > 1e100
