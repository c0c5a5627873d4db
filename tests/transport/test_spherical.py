"""The sphere: arc costs in every dimension, and slices along great circles."""

import math

import numpy as np
import ot
import pytest
import torch
from scipy.optimize import linear_sum_assignment

from vlasov import Cloud, transport
from vlasov.errors import InvalidValue, NotOnGeometry, ShapeMismatch
from vlasov.geometry import Sphere
from vlasov.transport import cost

DOUBLE = torch.float64


@pytest.mark.parametrize("p", [1, 2, 3])
@pytest.mark.parametrize("d", [3, 5])
@pytest.mark.parametrize("radius", [1.0, 2.5])
def test_costs_are_powers_of_arcs(p, d, radius, monkeypatch):
    monkeypatch.setattr(cost, "_BLOCK", 100)  # several blocks of rows
    a, b = (Cloud.sphere(30, d, radius=radius, seed=seed) for seed in (0, 1))
    cosines = (a.points @ b.points.mT / radius**2).clamp(-1, 1).numpy()
    arcs = radius * np.arccos(cosines)
    best = (arcs**p)[linear_sum_assignment(arcs**p)].mean()
    found = transport.distance(a, b, p, geometry=f"sphere:radius={radius}")
    # arccos loses half the digits close to 1, not here
    assert found.power.item() == pytest.approx(best, rel=1e-10)
    assert found.optimal


def test_close_and_antipodal_points_keep_their_digits():
    pole = [0.0, 0.0, 1.0]
    for angle, expected in ((1e-9, 1e-9), (math.pi, math.pi)):
        other = [[math.sin(angle), 0.0, math.cos(angle)]]
        found = transport.distance([pole], other, geometry="sphere").value.item()
        assert found == pytest.approx(expected, rel=1e-12)


def test_gradients_are_finite_and_tangent(generator):
    x = Cloud.sphere(6, 3, seed=3).points.requires_grad_()
    y = torch.cat((x.detach()[:2], -x.detach()[2:3], Cloud.sphere(4, 3, seed=4).points))
    found = transport.distance(Cloud(x), Cloud(y), geometry="sphere")
    (slope,) = torch.autograd.grad(found.value, x)
    assert slope.isfinite().all()
    assert (slope * x).sum(-1).abs().max() < 1e-14


def test_slices_agree_with_pot_in_units_of_the_radius(generator):
    # POT measures in turns of the unit circle
    a, b = Cloud.sphere(20, 4, radius=3.0, seed=0), Cloud.sphere(25, 4, radius=3.0, seed=1)
    raw = torch.randn(6, 4, 2, generator=generator, dtype=DOUBLE)
    frames = torch.linalg.qr(raw).Q
    for p in (1, 2):
        peer = ot.sliced_wasserstein_sphere(
            a.points / 3, b.points / 3, projections=frames, n_projections=6, p=p
        )
        found = transport.spherical_sliced(a, b, p, radius=3.0, frames=raw)
        # POT searches its cut to 1e-6
        assert found.value.item() == pytest.approx(6 * math.pi * float(peer), rel=1e-4)
        assert found.facts == {"great circles": 6}


def test_in_the_plane_the_only_great_circle_is_exact():
    a, b = Cloud.sphere(20, 2, seed=0), Cloud.sphere(25, 2, seed=1)
    expected = transport.distance(a, b, geometry="sphere").value.item()
    found = transport.spherical_sliced(a, b, frames=3)
    assert found.value.item() == pytest.approx(expected, rel=1e-12)
    assert found.facts["standard error"] < 1e-12


def test_slices_do_not_see_rotations(generator):
    a, b = Cloud.sphere(12, 3, seed=0), Cloud.sphere(12, 3, seed=1)
    turn = torch.linalg.qr(torch.randn(3, 3, generator=generator, dtype=DOUBLE)).Q
    turned = (c.with_points(c.points @ turn) for c in (a, b))
    here = transport.spherical_sliced(a, b, frames=60, generator=generator)
    there = transport.spherical_sliced(*turned, frames=60, generator=generator)
    error = math.hypot(here.facts["standard error"], there.facts["standard error"])
    assert abs(here.value - there.value) < 4 * error
    assert not here.optimal


def test_what_has_no_slice_is_refused():
    pole, other = Cloud([[0.0, 0.0, 1.0]]), Cloud([[1.0, 0.0, 0.0]])
    with pytest.raises(InvalidValue, match="off its axis"):
        transport.spherical_sliced(pole, other, frames=torch.eye(3, dtype=DOUBLE)[None, :, :2])
    with pytest.raises(InvalidValue, match="one great circle at least"):
        transport.spherical_sliced(pole, other, frames=0)
    with pytest.raises(ShapeMismatch, match=r"\(k, 3, 2\)"):
        transport.spherical_sliced(pole, other, frames=torch.zeros(1, 4, 2))
    with pytest.raises(ShapeMismatch, match="at least 2"):
        transport.spherical_sliced(Cloud([[1.0]]), Cloud([[-1.0]]))
    with pytest.raises(NotOnGeometry, match=r"\|x\| = 2"):
        transport.spherical_sliced(pole, Cloud([[2.0, 0.0, 0.0]]))


def test_both_points_of_the_sphere_of_the_line_are_half_a_turn_apart():
    found = transport.distance([[1.0]], [[-1.0]], geometry=Sphere())
    assert found.value.item() == pytest.approx(math.pi)
