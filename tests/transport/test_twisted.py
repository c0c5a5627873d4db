"""Twisted lengths: one token in closed form, laws of geodesics, runs, the convexity recipe."""

import itertools
import math

import pytest
import torch
from twisted_laws import DOUBLE, equation, weighted_cloud

from vlasov.cloud import Cloud
from vlasov.energies import energy
from vlasov.errors import InvalidValue, NotConverged, NotFinite, ShapeMismatch
from vlasov.pde import velocity
from vlasov.solve import simulate
from vlasov.transport.twisted import path_length, twisted_geodesic
from vlasov.transport.twisted_metric import TwistedMetric

pytestmark = pytest.mark.usefixtures("unchecked_types")


REPELLED = equation([[-1.0]], [[1.0]])
ON_LINE = TwistedMetric([[-1.0]])
IN_PLANE = TwistedMetric([[-1.0, 0.0], [0.0, -1.0]])


def _arc(x):
    return math.sqrt(math.pi / 2) * math.erf(x / math.sqrt(2))


@pytest.mark.parametrize(("x", "y"), [(-0.5, 0.5), (0.0, 1.0), (0.3, 2.0)])
def test_one_token_has_the_closed_form(x, y):
    wanted = abs(_arc(y) - _arc(x))
    frames = torch.linspace(x, y, 33, dtype=DOUBLE)[:, None, None]
    assert path_length(frames, ON_LINE).value.item() == pytest.approx(wanted, abs=1e-7)
    path = twisted_geodesic(Cloud([[x]]), Cloud([[y]]), ON_LINE, frames=33)
    assert path.distance.value.item() == pytest.approx(wanted, abs=1e-7)
    assert not path.distance.optimal
    # frames equally spaced in arc length, up to second order in their distance
    shares = [abs(_arc(p) - _arc(x)) / wanted for p in path.points[:, 0, 0].tolist()]
    assert shares == pytest.approx([i / 32 for i in range(33)], abs=1e-3)


@pytest.mark.parametrize("frames", [9, 17])
def test_the_error_of_a_polygon_is_of_fourth_order_on_the_line(frames):
    def error(count):
        points = torch.linspace(0.0, 2.0, count, dtype=DOUBLE)[:, None, None]
        return abs(path_length(points, ON_LINE).value.item() - _arc(2.0))

    rate = math.log2(error(frames) / error(2 * frames - 1))
    assert rate == pytest.approx(4, abs=0.15)


def test_the_length_does_not_depend_on_the_order_of_time(generator):
    points = torch.randn(5, 4, 2, generator=generator, dtype=DOUBLE)
    there, back = (path_length(p, IN_PLANE).value.item() for p in (points, points.flip(0)))
    assert there == pytest.approx(back, rel=1e-13)


def test_without_scores_it_is_the_plain_distance(generator):
    flat = TwistedMetric([[0.0, 0.0], [0.0, 0.0]], [[4.0, 0.0], [0.0, 1.0]])
    a, b = Cloud([[0.0, 0.0], [5.0, 0.0]]), Cloud([[5.0, 1.0], [0.0, 3.0]])
    # pairs (0, 3) and (0, 1), squared lengths 9 and 1
    assert twisted_geodesic(a, b, flat).distance.power.item() == pytest.approx(5.0, abs=1e-12)
    moved = a.with_points(a.points + torch.tensor([2.0, 0.0]))
    assert twisted_geodesic(a, moved, flat).distance.value.item() == pytest.approx(1.0, abs=1e-12)


def test_a_token_in_the_plane_bends_where_it_is_cheap():
    """Z = exp(-|x|^2): the path leaves the axis, its angular momentum and speed are constant."""
    path = twisted_geodesic(Cloud([[-1.0, 0.2]]), Cloud([[1.0, 0.2]]), IN_PLANE, frames=65)
    x, moves = path.points[:, 0], path.points[:, 0].diff(dim=0) * 64
    middle = (x[1:] + x[:-1]) / 2
    z = (-middle.square().sum(-1)).exp()
    momentum = z * (middle[:, 0] * moves[:, 1] - middle[:, 1] * moves[:, 0])
    speed = z.sqrt() * moves.norm(dim=-1)
    # midpoints of 64 segments: errors of second order, (2/64)^2
    assert (momentum.max() - momentum.min()).abs() < 1e-3
    assert (speed.max() - speed.min()).abs() < 2e-3
    assert x[32, 1] > 0.3
    straight = torch.lerp(x[0], x[-1], torch.linspace(0, 1, 65, dtype=DOUBLE)[:, None])
    assert path.distance.value < path_length(straight[:, None], IN_PLANE).value - 0.01


def test_the_length_of_a_geodesic_converges_at_second_order():
    ends = Cloud([[-1.0, 0.2]]), Cloud([[1.0, 0.2]])
    lengths = [
        twisted_geodesic(*ends, IN_PLANE, frames=2**k + 1).distance.value.item()
        for k in range(3, 8)
    ]
    gaps = [a - b for a, b in itertools.pairwise(lengths)]
    rates = [math.log2(a / b) for a, b in itertools.pairwise(gaps)]
    assert rates == pytest.approx([2.0] * len(rates), abs=0.15)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_geodesic_of_clouds_is_shorter_than_straight_lines(sign, generator):
    a, b = weighted_cloud(6, 2, generator), weighted_cloud(5, 2, generator)
    a = a.with_points(0.7 * a.points)
    metric = TwistedMetric(sign * torch.eye(2, dtype=DOUBLE))
    path = twisted_geodesic(a, b, metric)
    straight = torch.lerp(
        path.points[0], path.points[-1], torch.linspace(0, 1, 17, dtype=DOUBLE)[:, None, None]
    )
    direct = path_length(straight, metric, log_weights=path.log_weights)
    assert path.distance.value < direct.value
    action = path.distance.facts["action"]
    # constant speed: the action is the square of the length
    assert action == pytest.approx(path.distance.power.item(), rel=2e-3)
    back = twisted_geodesic(b, a, metric)
    assert back.distance.value.item() == pytest.approx(path.distance.value.item(), rel=1e-5)
    mass = torch.zeros(6, dtype=DOUBLE)
    place = (path.points[0][:, None] - a.points[None]).norm(dim=-1).argmin(-1)
    assert torch.allclose(mass.index_add(0, place, path.log_weights.exp()), a.weights, atol=1e-9)


def test_the_length_of_a_run_by_frames_and_by_speeds():
    cloud = Cloud.quantiles(20, 0.3, 0.1)
    run = simulate(REPELLED, cloud, until=1.0, step=0.05, integrator="rk4")
    fields = torch.stack([velocity(REPELLED, run.cloud(i)) for i in range(len(run.times))])
    polygon = path_length(run.points, ON_LINE, log_weights=run.log_weights)
    speeds = path_length(
        run.points, ON_LINE, log_weights=run.log_weights, times=run.times, velocities=fields
    )
    assert polygon.value.item() == pytest.approx(speeds.value.item(), rel=1e-3)
    # action = fall of the energy, and length^2 <= time * action
    fall = energy(REPELLED, cloud) - energy(REPELLED, run.final)
    assert polygon.power.item() <= fall.item()
    shortest = twisted_geodesic(cloud, run.final, ON_LINE)
    assert shortest.distance.value <= polygon.value + 1e-6


def test_recipe_2_the_energy_rises_in_the_middle_of_a_geodesic():
    path = twisted_geodesic(Cloud([[-0.5]]), Cloud([[0.5]]), ON_LINE)
    start, middle, end = (energy(REPELLED, path.cloud(i)).item() for i in (0, 8, 16))
    assert middle == pytest.approx(0.5, abs=1e-9)
    assert (start + end) / 2 == pytest.approx(0.3894, abs=5e-5)


def test_paths_that_are_none_are_refused(generator):
    points = torch.randn(3, 2, 1, generator=generator, dtype=DOUBLE)
    with pytest.raises(ShapeMismatch, match="two frames"):
        path_length(points[:1], ON_LINE)
    with pytest.raises(InvalidValue, match="times"):
        path_length(points, ON_LINE, velocities=points)
    with pytest.raises(NotFinite, match="overflows"):
        path_length(50 * points.abs() + 50, TwistedMetric([[1.0]]))
    with pytest.raises(InvalidValue, match="3 frames"):
        twisted_geodesic(Cloud([[0.0]]), Cloud([[1.0]]), ON_LINE, frames=2)
    with pytest.raises(NotConverged, match="slope"):
        twisted_geodesic(
            weighted_cloud(5, 2, generator), weighted_cloud(5, 2, generator), IN_PLANE, max_steps=2
        )
    with pytest.raises(ShapeMismatch, match="width"):
        twisted_geodesic(Cloud([[0.0]]), Cloud([[0.0, 0.0]]), ON_LINE)


def test_equal_clouds_are_at_distance_zero():
    cloud = Cloud([[0.0], [1.0]])
    assert twisted_geodesic(cloud, cloud, ON_LINE).distance.value.item() == 0
