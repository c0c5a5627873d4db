"""Observables over time, read back from the axes."""

from typing import Any

import numpy as np
import pytest
import torch

from vlasov.errors import InvalidValue, UnknownName
from vlasov.plots import observables
from vlasov.run import EventRecord

F = 21


@pytest.fixture
def observed(make_run):
    """A run of 21 frames that recorded the given values."""

    def make(value, **fields):
        points = torch.zeros(F, *fields.pop("batch", ()), 3, 2, dtype=torch.float64)
        return make_run(points, observables={"some_number": value}, **fields)

    return make


def _curves(ax) -> Any:
    return [line.get_xydata() for line in ax.lines if len(line.get_xydata()) == F]


def _texts(ax) -> Any:
    return [text.get_text() for text in ax.texts]


def test_a_number_is_a_line(observed, figure):
    value = torch.linspace(1.5, 3.7, F, dtype=torch.float64)
    run = observed(value)
    ax = figure.add_subplot()
    assert observables(run, ax, "some_number") is ax
    np.testing.assert_array_equal(_curves(ax)[0], torch.stack([run.times, value], -1).numpy())
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("time $t$", "some number")
    assert ax.get_yscale() == "linear"
    assert ax.get_legend() is None


@pytest.mark.parametrize(
    ("low", "high", "scale"),
    [(1e-4, 1.0, "log"), (0.011, 1.0, "linear"), (0.0, 1e4, "linear"), (-1.0, 1e4, "linear")],
)
def test_more_than_two_decades_are_read_on_a_log_scale(observed, figure, low, high, scale):
    value = torch.linspace(low, high, F, dtype=torch.float64)
    assert (
        observables(observed(value + 0.0), figure.add_subplot(), "some_number").get_yscale()
        == scale
    )


def test_counts_are_a_staircase_with_whole_ticks(observed, figure):
    ax: Any = observables(observed(torch.arange(F, 0, -1)), figure.add_subplot(), "some_number")
    assert ax.lines[0].get_drawstyle() == "steps-post"
    assert (ax.get_yticks() % 1 == 0).all()


def test_a_count_that_never_changes_has_one_tick(observed, figure):
    ax: Any = observables(observed(torch.ones(F)), figure.add_subplot(), "some_number")
    low, high = ax.get_ylim()
    assert [tick for tick in ax.get_yticks() if low <= tick <= high] == [1.0]


def test_components_have_a_line_each(observed, figure):
    value = torch.rand(F, 2, 2, generator=torch.Generator().manual_seed(0))
    ax: Any = observables(observed(value), figure.add_subplot(), "some_number")
    np.testing.assert_allclose(np.stack(_curves(ax), 1)[..., 1], value.flatten(1).double().numpy())
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["1", "2", "3", "4"]


def test_many_components_are_an_image(observed, figure):
    value = torch.rand(F, 50, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    ax: Any = observables(observed(value), figure.add_subplot(), "some_number")
    (mesh,) = ax.collections
    np.testing.assert_array_equal(np.reshape(mesh.get_array(), (50, F)), value.numpy().T)
    assert ax.get_ylabel() == "component of some number"


def test_values_that_are_not_finite_are_counted(observed, figure):
    value = torch.linspace(1.0, 2.5, F)
    value[-2:] = torch.tensor([torch.inf, torch.nan])
    ax: Any = observables(observed(value), figure.add_subplot(), "some_number")
    assert np.isnan(_curves(ax)[0][-2:, 1]).all()
    assert _texts(ax) == ["2 of 21 values not finite"]


def test_an_observable_never_finite_is_drawn_empty(observed, figure):
    ax: Any = observables(
        observed(torch.full((F,), torch.nan)), figure.add_subplot(), "some_number"
    )
    figure.canvas.draw()
    assert _texts(ax) == ["21 of 21 values not finite"]


def test_events_and_an_early_stop_are_lines_with_names(observed, figure):
    run = observed(
        torch.linspace(1.0, 2.5, F),
        events=(EventRecord("merge", 0.2), EventRecord("merge", 0.3), EventRecord("turn", 0.25)),
        status="blow-up",
        stopped_at=0.9,
    )
    ax: Any = observables(run, figure.add_subplot(), "some_number")
    lines = sorted(line.get_xdata()[0] for line in ax.lines if len(line.get_xdata()) == 2)
    assert lines == [0.2, 0.25, 0.3, 0.9]
    assert [(text.get_text(), text.xy[0]) for text in ax.texts] == [
        ("merge (×2)", 0.2),
        ("turn", 0.25),
        ("blow-up", 0.9),
    ]


def test_names_of_events_do_not_overlap(observed, figure):
    events = tuple(EventRecord(name, 0.1 * k) for k, name in enumerate(("one", "two", "three"), 4))
    run = observed(torch.linspace(1.0, 2.5, F), events=events, status="steady", stopped_at=0.7)
    ax: Any = observables(run, figure.add_subplot(), "some_number")
    figure.canvas.draw()
    boxes = [text.get_window_extent() for text in ax.texts]
    assert len(boxes) == 4
    assert not any(a.overlaps(b) for k, a in enumerate(boxes) for b in boxes[:k])


def test_the_curve_stays_below_the_names(observed, figure):
    run = observed(10.0 ** torch.linspace(0, 6, F), status="blow-up", stopped_at=1.0)
    ax: Any = observables(run, figure.add_subplot(), "some_number")
    figure.canvas.draw()
    top = ax.transData.transform((1.0, 1e6))[1]
    assert top < ax.texts[0].get_window_extent().y0


def test_a_batch_shows_its_first_cloud(observed, figure):
    value = torch.linspace(1.0, 2.5, F, dtype=torch.float64)[:, None].repeat(1, 2)
    value[F // 2 + 1 :, 0] = torch.nan
    run = observed(
        value, batch=(2,), member_status=("steady", "finished"), member_stopped_at=(0.5, 1.0)
    )
    ax: Any = observables(run, figure.add_subplot(), "some_number")
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), value[: F // 2 + 1, 0].numpy())
    assert _texts(ax) == ["steady"]


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.int64, torch.bool])
def test_g13_every_number_format_is_drawn(observed, figure, dtype):
    value = torch.arange(F).remainder(2).to(dtype)
    ax: Any = observables(observed(value), figure.add_subplot(), "some_number")
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), np.arange(F) % 2)


def test_an_unknown_observable_is_refused_with_the_nearest(observed, figure):
    with pytest.raises(
        UnknownName, match="observable of the run 'some_numbr': did you mean 'some_number'"
    ):
        observables(observed(torch.zeros(F)), figure.add_subplot(), "some_numbr")


def test_a_run_without_observables_is_refused(shrinking, figure):
    with pytest.raises(InvalidValue, match="recorded no observable but 'energy' was asked for"):
        observables(shrinking(), figure.add_subplot(), "energy")


def test_3d_axes_are_refused(observed, figure):
    with pytest.raises(InvalidValue, match="An observable over time needs flat axes"):
        observables(observed(torch.zeros(F)), figure.add_subplot(projection="3d"), "some_number")
