"""The figure of a run: its panels and its caption."""

import dataclasses
from typing import Any

import pytest
import torch
from matplotlib.backends.backend_agg import FigureCanvasAgg

from vlasov.errors import NotFinite
from vlasov.plots import summary_figure


def _titles(figure):
    return [ax.get_title(loc="left") for ax in figure.axes]


def _caption(figure):
    return figure.get_supxlabel().replace("\N{NO-BREAK SPACE}", " ").replace("\n", " ")


@pytest.mark.parametrize("d", [1, 2, 3, 6])
@pytest.mark.parametrize("sphere", [False, True])
def test_the_cloud_before_and_after_and_its_paths(shrinking, d, sphere):
    figure = summary_figure(shrinking(d=d, sphere=sphere))
    FigureCanvasAgg(figure).draw()
    assert sorted(_titles(figure)) == ["(a) $t = 0$", "(b) paths, ◦ to •", "(c) $t = 1$"]


@pytest.mark.parametrize(
    ("numbers", "vectors", "shown"),
    [(0, 1, 1), (1, 5, 3), (3, 1, 3), (4, 1, 4), (9, 0, 6), (0, 0, 0)],
)
def test_numbers_come_before_vectors_and_six_fit(shrinking, numbers, vectors, shown):
    seen = {f"vector_{k}": torch.rand(5, 2) for k in range(vectors)}
    seen |= {f"number_{k}": torch.rand(5) for k in range(numbers)}
    figure = summary_figure(dataclasses.replace(shrinking(), observables=seen))
    names = [title[4:] for title in _titles(figure)[3:]]
    assert len(names) == shown
    assert names == sorted(names)
    assert sum(name.startswith("number") for name in names) == min(numbers, 6)


def test_panels_do_not_overlap(shrinking):
    run = dataclasses.replace(
        shrinking(), observables={name: torch.rand(5) for name in ("one", "two", "three", "four")}
    )
    figure = summary_figure(run, title="A title")
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    boxes: list[Any] = [ax.get_tightbbox(canvas.get_renderer()) for ax in figure.axes]
    assert not any(a.overlaps(b) for k, a in enumerate(boxes) for b in boxes[:k])
    assert all(box.x0 >= 0 and box.x1 <= figure.bbox.x1 for box in boxes)


def test_the_caption_says_what_was_solved_and_how_it_ended(shrinking):
    run = dataclasses.replace(
        shrinking(),
        facts={
            "attention": "sigmoid:bias=1",
            "beta": -2.0,
            "mask": None,
            "geometry": "euclid",
            "integrator": "rk4",
        },
        status="max-steps",
        stopped_at=0.75,
        steps=40,
        evaluations=160,
    )
    assert _caption(summary_figure(run)) == (
        "attention = sigmoid:bias=1, β = −2, geometry = euclid, n = 12, d = 2, integrator = rk4; "
        "max-steps at t = 0.75; 40 steps, 160 field evaluations."
    )


def test_a_batch_says_which_cloud_it_shows(make_run):
    run = make_run(torch.rand(3, 2, 5, 2), observables={"size": torch.rand(3, 2)})
    figure = summary_figure(run)
    assert _caption(figure).endswith("cloud 0 of the batch.")
    assert len(figure.axes) == 4


def test_a_run_of_one_frame(shrinking):
    run = dataclasses.replace(shrinking(frames=1), observables={"size": torch.rand(1)})
    FigureCanvasAgg(summary_figure(run)).draw()


def test_the_last_state_alone_with_observables_of_all_times(shrinking):
    run = shrinking()
    last = dataclasses.replace(
        run,
        points=run.points[-1:],
        point_times=run.times[-1:],
        observables={"size": torch.rand(5)},
    )
    assert "(a) $t = 1$" in _titles(summary_figure(last))


def test_a_frame_that_is_not_finite_is_refused(shrinking):
    run = shrinking()
    run.points[-1] = torch.nan
    with pytest.raises(NotFinite, match="frame 4"):
        summary_figure(run)
