"""The circle: against general transport with arc costs, rotations, and the line."""

import math

import numpy as np
import pytest
import torch

from vlasov import Cloud, transport
from vlasov.errors import NotConverged, NotOnGeometry
from vlasov.geometry import Sphere
from vlasov.transport import circle
from vlasov.transport.convex_search import Probe, minimise

DOUBLE = torch.float64


def at(angles, weights=None, radius=1.0):
    angles = torch.as_tensor(angles, dtype=DOUBLE)
    return Cloud(radius * torch.stack((angles.cos(), angles.sin()), -1), weights)


def draw(generator, n, *, spread=1.0, weighted=False):
    angles = 2 * math.pi * spread * torch.rand(n, generator=generator, dtype=DOUBLE)
    w = torch.rand(n, generator=generator, dtype=DOUBLE)
    return at(angles, w / w.sum() if weighted else None)


@pytest.mark.parametrize("p", [1, 1.5, 2, 3])
@pytest.mark.parametrize(("n", "m"), [(1, 1), (2, 2), (40, 40), (40, 31)])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("spread", [1.0, 0.1])
def test_the_best_cut_is_optimal(generator, p, n, m, weighted, spread):
    a = draw(generator, n, spread=spread, weighted=weighted)
    b = draw(generator, m, spread=spread, weighted=weighted)
    found = transport.distance(a, b, p, geometry="sphere")
    other = transport.distance(a, b, p, geometry="sphere", method="paths")
    assert found.method == "best cut of the circle"
    assert found.power.item() == pytest.approx(other.power.item(), rel=1e-11)
    assert 0 <= found.gap <= 1e-9


def test_lengths_are_arcs_of_the_radius():
    for radius in (1.0, 2.5):
        a, b = at([0.1], radius=radius), at([0.1 + 3.0], radius=radius)
        found = transport.distance(a, b, 2, geometry=Sphere(radius))
        assert found.value.item() == pytest.approx(3 * radius, rel=1e-13)


@pytest.mark.parametrize("p", [1, 2, 3])
@pytest.mark.parametrize("turn", [1e-9, 1e-3, 0.01])
def test_a_small_rotation_costs_its_angle(generator, p, turn):
    # by less than half the smallest gap, so that every token keeps its partner
    angles = torch.arange(50, dtype=DOUBLE) / 50 * 2 * math.pi + 0.02 * torch.rand(
        50, generator=generator, dtype=DOUBLE
    )
    found = transport.distance(at(angles), at(angles + turn), p, geometry="sphere")
    # coordinates are rounded to eps, angles to a few
    assert found.value.item() == pytest.approx(turn, rel=1e-13, abs=1e-15)


def test_the_cut_may_lie_anywhere(generator):
    a, b = draw(generator, 30, weighted=True), draw(generator, 20, weighted=True)
    values = []
    for turn in torch.linspace(0, 2 * math.pi, 9, dtype=DOUBLE):
        rotation = torch.stack(
            (torch.stack((turn.cos(), turn.sin())), torch.stack((-turn.sin(), turn.cos())))
        )
        turned = (c.with_points(c.points @ rotation) for c in (a, b))
        values.append(transport.distance(*turned, geometry="sphere").value)
    spread = torch.stack(values)
    assert (spread - spread[0]).abs().max() < 1e-13


def test_on_a_small_arc_it_is_the_line(generator):
    x, y = (torch.rand(30, generator=generator, dtype=DOUBLE) for _ in "ab")
    for p in (1, 2):
        on_arc = transport.distance(at(x + 6), at(y + 6), p, geometry="sphere").value
        on_line = transport.distance(x[:, None], y[:, None], p).value
        assert on_arc.item() == pytest.approx(on_line.item(), rel=1e-12)


def test_gradients_are_tangent_and_agree_with_differences(generator):
    logits = torch.randn(6, generator=generator, dtype=DOUBLE).requires_grad_()
    x, y = (
        (6 * torch.rand(n, generator=generator, dtype=DOUBLE)).requires_grad_() for n in (6, 5)
    )

    def power(x, y, logits):
        a = torch.stack((x.cos(), x.sin()), -1)
        b = torch.stack((y.cos(), y.sin()), -1)
        first = Cloud.from_log_weights(a, logits.log_softmax(-1))
        return transport.distance(first, Cloud(b), geometry="sphere").power

    assert torch.autograd.gradcheck(power, (x, y, logits), eps=1e-7, atol=1e-6)
    points = draw(generator, 5).points.requires_grad_()
    found = transport.distance(Cloud(points), draw(generator, 5), geometry="sphere").power
    (slope,) = torch.autograd.grad(found, points)
    assert (slope * points).sum(-1).abs().max() < 1e-14


def test_points_off_the_circle_are_refused():
    with pytest.raises(NotOnGeometry, match=r"\|x\| = 1"):
        transport.distance([[1.0, 0.0]], [[1.1, 0.0]], geometry="sphere")


def test_an_open_gap_is_an_error(generator, monkeypatch):
    monkeypatch.setattr(circle, "minimise", lambda f, low, high: (f(0.3), 0.0))
    with pytest.raises(NotConverged, match="relative gap"):
        transport.distance(draw(generator, 5), draw(generator, 5), geometry="sphere")


def test_the_search_finds_the_kink_of_piecewise_linear_functions(generator):
    for _ in range(50):
        slopes = torch.randn(30, generator=generator, dtype=DOUBLE).numpy()
        offsets = torch.randn(30, generator=generator, dtype=DOUBLE).numpy()

        def function(x, slopes=slopes, offsets=offsets):
            values = slopes * x + offsets
            best = slopes[np.isclose(values, values.max(), rtol=0, atol=1e-14)]
            return Probe(x, float(values.max()) + 10, float(best.min()), float(best.max()))

        if not slopes.min() < 0 < slopes.max():
            continue
        probe, bound = minimise(function, -100.0, 100.0)
        crossings = [
            -(offsets[i] - offsets[j]) / (slopes[i] - slopes[j])
            for i in range(30)
            for j in range(i)
        ]
        exact = min(function(x).value for x in crossings)
        assert probe.value == pytest.approx(exact, rel=1e-12)
        assert bound == pytest.approx(exact, rel=1e-12)
