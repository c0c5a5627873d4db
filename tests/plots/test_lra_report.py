"""The pictures of a grid, read back from their axes."""

import functools
from dataclasses import replace

import numpy as np
import pytest
from lra_grids import FLOORS, made_outcomes, made_report

from vlasov.experiments.lra_arms import every_arm
from vlasov.experiments.lra_statistics import estimate
from vlasov.plots.lra_arms import groups_of, scale_name
from vlasov.plots.lra_curves import curve_page
from vlasov.plots.lra_report import pictures
from vlasov.plots.lra_response import response
from vlasov.plots.save import save_figure

ARMS = ("none", "after-embedding:1", "after-embedding:1,2,4", "after-mlp:1")
GAIN = dict(zip(ARMS, (0.0, 0.02, 0.05, -0.03), strict=True))
NOT_RUN = ("image", "after-mlp:1")


def accuracy(trial):
    """Gains with a little noise in each arm."""
    noise = 0.001 * np.sin(7 * trial.seed + len(trial.arm.name))
    return 0.5 + 0.01 * trial.seed + GAIN.get(trial.arm.name, 0.0) + noise


def outcomes(seeds=3):
    found = made_outcomes(["listops", "image"], ARMS, seeds, accuracy)
    return [one for one in found if (one.trial.task, one.trial.arm.name) != NOT_RUN]


@functools.cache
def drawn():
    return pictures(made_report(outcomes()), {})


def texts(ax):
    return [text.get_text() for text in ax.texts if text.get_text()]


def test_every_page_of_a_grid_with_scales():
    assert list(drawn()) == ["accuracy", "gains", "scales", "response", "training"]


def test_without_runs_there_is_no_page():
    assert pictures(made_report([]), {}) == {}


def test_a_baseline_alone_has_accuracies_and_curves():
    found = made_outcomes(["listops"], ARMS[:1], 1, accuracy)
    assert list(pictures(made_report(found), {})) == ["accuracy", "training"]


def means(ax):
    """The mean of each arm, from above."""
    found = [line for line in ax.get_lines() if line.get_marker() == "D"]
    return [
        float(line.get_xdata()[0]) for line in sorted(found, key=lambda one: one.get_ydata()[0])
    ]


def test_each_arm_is_a_dot_at_its_mean_beside_the_floor():
    listops, image = drawn()["accuracy"].axes
    assert [listops.get_title("left"), image.get_title("left")] == ["ListOps", "Image"]
    assert [label.get_text() for label in listops.get_yticklabels()] == [
        "baseline", "after embedding", "after MLP"
    ]  # fmt: skip
    assert (len(means(listops)), len(means(image))) == (4, 3)
    values = [accuracy(one.trial) for one in outcomes()
              if (one.trial.task, one.trial.arm.name) == ("listops", ARMS[2])]  # fmt: skip
    assert means(listops)[2] == pytest.approx(estimate(values).mean)
    (floor,) = (line for line in listops.get_lines() if line.get_linestyle() == "--")
    assert list(floor.get_xdata()) == [FLOORS["listops"]["root operator"]] * 2
    assert not listops.patches  # nothing hangs from the floor, on either side


def test_each_arm_has_its_interval_and_its_seeds():
    lines = [line for line in drawn()["accuracy"].axes[0].get_lines() if len(line.get_xdata()) > 1]
    spans = [np.ptp(line.get_xdata()) for line in lines if line.get_marker() == "None"]
    dots = [line for line in lines if line.get_marker() == "o"]
    assert len(dots) == 4
    assert all(len(line.get_xdata()) == 3 for line in dots)
    known = estimate([accuracy(one.trial) for one in outcomes() if one.trial.arm.name == "none"
                      and one.trial.task == "listops"])  # fmt: skip
    assert pytest.approx(known.high - known.low) in spans


def test_an_interval_wider_than_all_accuracies_does_not_widen_the_axis():
    found = made_outcomes(["text"], ARMS[:1], 2, lambda trial: 0.1 + 0.8 * trial.seed)
    low, high = pictures(made_report(found), {})["accuracy"].axes[0].get_xlim()
    assert -0.05 < low < high < 1.05


def test_cells_hold_gain_and_interval_and_a_dash_where_nothing_was_run():
    ax = drawn()["gains"].axes[0]
    (image,) = ax.images
    gains = np.asarray(image.get_array())
    assert gains.shape == (3, 2)
    assert float(gains[1, 0]) == pytest.approx(5.0, abs=0.2)
    assert np.isnan(gains).tolist()[2] == [False, True]
    assert "–" in texts(ax)
    assert all("\n± 0." in text for text in texts(ax) if text[0] in "+−")
    assert image.get_clim()[0] == -image.get_clim()[1]


def test_bold_is_what_excludes_zero():
    weights = {text.get_text().split("\n")[0]: text.get_weight()
               for text in drawn()["gains"].axes[0].texts}  # fmt: skip
    assert weights["–"] == "normal"
    assert {weight for shown, weight in weights.items() if shown[0] in "+−"} == {"bold"}


def test_scales_are_columns_of_their_own():
    ax = drawn()["scales"].axes[0]
    assert [label.get_text() for label in ax.get_xticklabels()] == ["$h = 1$", "$h = 1, 2, 4$"]
    assert texts(ax).count("–") == 1  # after-mlp has one scale


def test_a_response_is_one_at_zero_and_less_elsewhere():
    ax = drawn()["response"].axes[0]
    learned = [line for line in ax.get_lines() if line.get_linestyle() == "-"][:2]
    one, several = (np.asarray(line.get_ydata()) for line in learned)
    assert one[0] == several[0] == 1.0
    assert one[-1] == pytest.approx(1 - 4 * 0.2)
    # of three equal shares only h = 1 damps the highest frequency
    assert several[-1] == pytest.approx(1 - 4 * 0.2 / 3)


@pytest.mark.parametrize("scale", [1, 2, 4])
def test_the_response_of_one_scale_is_its_cosine(scale):
    omega = np.linspace(0.0, np.pi, 181)
    known = 1 - 2 * 0.3 * (1 - np.cos(scale * omega))
    assert response({scale: 0.3}) == pytest.approx(known)


def test_layers_along_heads_or_with_options_have_no_response():
    found = made_outcomes(["text"], ("none", "across-heads:1", "after-mlp:1;norm"), 1, accuracy)
    assert "response" not in pictures(made_report(found), {})


def curves_of(values, seeds):
    """A page of one arm whose training losses are these, by epoch and seed."""
    made = made_outcomes(["text"], ARMS[:1], seeds, accuracy)
    found = [replace(one, result=replace(one.result, train_losses=tuple(values[one.trial.seed])))
             for one in made]  # fmt: skip
    return curve_page(made_report(found))


def test_bands_are_intervals_of_the_mean_and_the_legend_says_so():
    values = [[2.0, 1.5], [2.2, 1.5], [2.7, 1.5]]
    figure = curves_of(values, 3)
    (band,) = figure.axes[0].collections
    found = np.asarray(band.get_paths()[0].vertices)
    known = estimate([2.0, 2.2, 2.7])
    first = [y for x, y in found if x == 1]
    assert (min(first), max(first)) == pytest.approx((known.low, known.high))
    assert {y for x, y in found if x == 2} == {1.5}
    assert figure.legends[0].get_texts()[-1].get_text() == "95 % interval over seeds"
    low, high = figure.axes[0].get_ylim()  # of the seeds, with some room
    assert 1.1 < low < 1.5 < 2.7 < high < 3.1


def test_one_seed_has_no_band():
    figure = curves_of([[2.0, 1.5]], 1)
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["none"]
    assert not figure.axes[0].collections[0].get_paths()


def test_curves_are_means_over_the_seeds():
    figure = drawn()["training"]
    assert len(figure.axes) == 6
    lines = figure.axes[0].get_lines()
    assert len(lines) == 4
    assert np.asarray(lines[0].get_ydata()).tolist() == [2.0, 1.5]
    assert np.asarray(lines[0].get_xdata()).tolist() == [1, 2]


def test_arms_of_a_whole_grid_share_the_colour_of_their_position():
    found = made_outcomes(["listops"], every_arm().split(), 1, accuracy)
    figure = curve_page(made_report(found))
    assert len(figure.axes[0].get_lines()) == 29
    assert len({line.get_color() for line in figure.axes[0].get_lines()}) == 8
    assert [text.get_text() for text in figure.legends[0].get_texts()][:2] == [
        "baseline", "after embedding"
    ]  # fmt: skip


def test_arms_are_grouped_in_the_order_of_the_paper():
    groups = groups_of(["own;norm", *reversed(every_arm().split())])
    assert [group.name for group in groups][:3] == ["baseline", "after embedding", "after MLP"]
    assert groups[-1].name == "own;norm"
    assert [scale_name(one) for one in groups[1].arms] == [
        "$h = 1$", "$h = 2$", "$h = 4$", "$h = 1, 2, 4$"
    ]  # fmt: skip


@pytest.mark.slow
def test_the_whole_grid_can_be_drawn(tmp_path):
    tasks = list(FLOORS)
    report = made_report(made_outcomes(tasks, every_arm().split(), 2, accuracy))
    for name, figure in pictures(report, {}).items():
        save_figure(figure, tmp_path / f"{name}.png", dpi=60.0)
    assert len(list(tmp_path.iterdir())) == 5
