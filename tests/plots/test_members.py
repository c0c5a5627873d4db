"""Of a batch the first cloud is drawn, up to its own end."""

import numpy as np
import pytest
import torch

from vlasov.errors import NotFinite
from vlasov.plots import project
from vlasov.plots.members import first_member
from vlasov.run import EventRecord


@pytest.fixture
def batch(make_run, generator):
    """Three clouds, of which the first stops at t = 0.5."""
    points = torch.randn(5, 3, 8, 2, generator=generator, dtype=torch.float64)
    points[3:, 0] = torch.nan
    size = points.norm(dim=-1).amax(-1)
    return make_run(
        points,
        observables={"size": size, "mean": points.mean(-2)},
        events=(
            EventRecord("merge", 0.3, (0,)),
            EventRecord("merge", 0.8, (1,)),
            EventRecord("all", 0.4),
        ),
        status="finished",
        member_status=("collapse", "finished", "finished"),
        member_stopped_at=(0.5, 1.0, 1.0),
    )


def test_a_member_is_cut_at_its_own_stop(batch):
    scene = project(batch)
    assert scene.times.tolist() == [0.0, 0.25, 0.5]
    np.testing.assert_array_equal(scene.points, batch.points[:3, 0].numpy())
    assert scene.remark == "cloud 0 of the batch"


def test_observables_events_and_status_follow_the_member(batch):
    one = first_member(batch)
    assert (one.status, one.stopped_at, one.finished) == ("collapse", 0.5, False)
    assert one.observables["size"].shape == (3,)
    assert one.observables["mean"].shape == (3, 2)
    assert [event.name for event in one.events] == ["merge", "all"]


def test_a_single_run_is_drawn_whole(shrinking):
    run = shrinking()
    assert first_member(run) is run
    assert project(run).remark == ""


def test_nan_before_the_stop_is_refused(batch):
    batch.points[1, 0, 0, 0] = torch.nan
    with pytest.raises(NotFinite, match="frame 1"):
        project(batch)


def test_a_batch_that_runs_backwards_is_cut_at_its_stop(batch, make_run):
    times = torch.linspace(1.0, 0.0, 5, dtype=torch.float64)
    back = make_run(
        batch.points, times=times, point_times=times, member_status=("blow-up",) * 3,
        member_stopped_at=(0.5, 0.0, 0.0),
    )  # fmt: skip
    assert project(back).times.tolist() == [1.0, 0.75, 0.5]


def test_a_batch_without_stops_of_its_own_is_drawn_whole(make_run, generator):
    points = torch.randn(4, 2, 3, 6, 1, generator=generator, dtype=torch.float64)
    positions = torch.arange(6.0).expand(2, 3, 6)
    one = first_member(make_run(points, positions=positions))
    assert one.points.shape == (4, 6, 1)
    assert one.positions is not None
    assert one.positions.tolist() == list(range(6))
