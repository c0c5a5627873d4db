"""Inputs on which other libraries returned a wrong distance, and what is refused."""

import math

import pytest
import torch

import vlasov as vl
from vlasov import Cloud, transport
from vlasov.errors import InvalidValue, NotFinite, ShapeMismatch, UnknownName, Unsupported

DOUBLE = torch.float64


def held(points, log_weights=None):
    """A cloud of a state already known, whose points nobody checked."""
    x = torch.as_tensor(points, dtype=DOUBLE)
    even = torch.full(x.shape[:1], -math.log(len(x)), dtype=DOUBLE)
    return Cloud.from_log_weights(x, even if log_weights is None else log_weights)


@pytest.mark.parametrize("method", ["auto", "simplex", "paths"])
@pytest.mark.parametrize("z", [math.nan, math.inf, 1e308])
@pytest.mark.parametrize("d", [1, 2])
def test_diverged_points_are_refused(z, d, method):
    x, y = torch.zeros(3, d, dtype=DOUBLE), torch.ones(3, d, dtype=DOUBLE)
    x[1:, 0] = torch.tensor([1.0, z])
    with pytest.raises(NotFinite, match=r"finite|overflows"):
        transport.distance(held(x), held(y), method=method)
    with pytest.raises(NotFinite, match=r"finite|overflows"):
        transport.sliced(held(y), held(x), directions=2)


def test_a_power_that_overflows_is_refused_though_the_distance_is_finite():
    with pytest.raises(NotFinite, match="p = 4"):
        transport.distance(Cloud([[0.0]]), Cloud([[1e100]]), 4)
    assert vl.wasserstein(Cloud([[0.0]]), Cloud([[1e100]]), 2).item() == pytest.approx(1e100)


@pytest.mark.parametrize("d", [1, 2])
def test_a_power_that_underflows_is_refused(d):
    a, b = torch.zeros(2, d, dtype=DOUBLE), torch.zeros(2, d, dtype=DOUBLE)
    a[1], b[1], b[0] = 1, 1, 1e-3
    with pytest.raises(NotFinite, match="underflows"):
        vl.wasserstein(a, b, 150)
    assert vl.wasserstein(a, b, 20).item() == pytest.approx(1e-3 * d**0.5 / 2**0.05, rel=1e-12)


def test_small_points_do_not_underflow():
    a, b = Cloud([[0.0, 0.0], [1e-200, 0.0]]), Cloud([[0.0, 1e-200], [1e-200, 1e-200]])
    assert vl.wasserstein(a, b).item() == pytest.approx(1e-200, rel=1e-14)


@pytest.mark.parametrize("n", [5, 7, 50])
def test_weights_of_single_precision_move_all_mass(n, generator):
    x = torch.rand(n, 2, generator=generator, dtype=DOUBLE)
    y = torch.rand(n, 2, generator=generator, dtype=DOUBLE)
    given = torch.rand(n, generator=generator).softmax(-1) if n == 50 else torch.ones(n) / n
    single = transport.distance(Cloud(x, given), Cloud(y))
    double = transport.distance(Cloud(x, given.double() / given.double().sum()), Cloud(y))
    assert single.value.item() == pytest.approx(double.value.item(), rel=1e-6)
    assert single.optimal


@pytest.mark.parametrize("method", ["auto", "simplex", "paths"])
def test_the_line_sorts_weights_with_points(method):
    a, b = (
        Cloud([[3.0], [1.0], [2.0]], [0.5, 0.3, 0.2]),
        Cloud([[0.0], [5.0], [1.0]], [0.2, 0.5, 0.3]),
    )
    assert transport.distance(a, b, 1, method=method).power.item() == pytest.approx(1.4)
    assert transport.distance(a, b, 2, method=method).power.item() == pytest.approx(2.4)


def test_the_distance_and_its_power_are_told_apart():
    a, b = Cloud([[0.0], [1.0]]), Cloud([[3.0], [4.0]])
    assert vl.wasserstein(a, b).item() == 3.0
    assert transport.distance(a, b).power.item() == 9.0
    assert float(transport.distance(a, b)) == 3.0


def test_a_vector_is_neither_one_point_nor_weights():
    with pytest.raises(ShapeMismatch, match=r"points\[:, None\]"):
        vl.wasserstein([0.5, 0.5, 0.0, 0.0], [0.0, 0.0, 0.5, 0.5])
    a, b = (torch.tensor(x)[:, None] for x in ([0.5, 0.5, 0.0, 0.0], [0.0, 0.0, 0.5, 0.5]))
    assert vl.wasserstein(a, b, 1).item() == 0
    sites = torch.arange(4.0)[:, None]
    as_weights = Cloud(sites, [0.5, 0.5, 0, 0]), Cloud(sites, [0, 0, 0.5, 0.5])
    assert vl.wasserstein(*as_weights, 1).item() == pytest.approx(2)


def test_weights_must_fit():
    with pytest.raises(ShapeMismatch, match="one number for each token"):
        Cloud(torch.zeros(4, 2), [0.5, 0.25, 0.25])
    with pytest.raises(InvalidValue, match=r"sum to 1\.1"):
        Cloud(torch.zeros(2, 2), [0.6, 0.5])


@pytest.mark.parametrize("method", ["auto", "simplex", "paths"])
def test_empty_atoms_change_nothing(method):
    y = Cloud([[0.5], [1.5]], [0.25, 0.75])
    with_empty, without = Cloud([[0.0], [1.0], [2.0]], [0.5, 0.5, 0.0]), Cloud([[0.0], [1.0]])
    for x in (with_empty, without):
        assert transport.distance(x, y, method=method).power.item() == pytest.approx(0.75)


def test_gradients_carry_their_factor():
    x = torch.tensor([[0.0, 0.0], [1.0, 0.0]], dtype=DOUBLE, requires_grad=True)
    y = Cloud(x.detach() + torch.tensor([3.0, 0.0], dtype=DOUBLE))
    for factor in (1, -2):
        (slope,) = torch.autograd.grad(factor * transport.distance(Cloud(x), y).power, x)
        torch.testing.assert_close(slope, factor * torch.tensor([[-3.0, 0.0]] * 2, dtype=DOUBLE))


@pytest.mark.parametrize("p", [1, 1.5, 2, 3])
@pytest.mark.parametrize("d", [1, 2])
def test_coincident_clouds_have_a_finite_gradient(p, d):
    x = torch.arange(3.0 * d, dtype=DOUBLE).reshape(3, d).requires_grad_()
    found = vl.wasserstein(Cloud(x), Cloud(x.detach()), p)
    assert found.item() == 0
    assert torch.autograd.grad(found, x)[0].abs().max().item() == 0


@pytest.mark.parametrize("p", [0.5, 0, -1, math.inf, math.nan])
def test_exponents_that_give_no_distance_are_refused(p):
    with pytest.raises(InvalidValue, match="finite p of at least 1"):
        vl.wasserstein([[0.0]], [[1.0]], p)
    with pytest.raises(InvalidValue, match="finite p of at least 1"):
        vl.wasserstein(vl.Gaussian(0.0, 1.0), [[1.0]], p)


def test_clouds_that_do_not_fit_are_refused():
    with pytest.raises(ShapeMismatch, match="d = 2 and d = 3"):
        vl.wasserstein(Cloud.gaussian(3, d=2), Cloud.gaussian(3, d=3))
    with pytest.raises(ShapeMismatch, match=r"cloud.member\(i\)"):
        vl.wasserstein(torch.zeros(2, 3, 2), torch.zeros(3, 2))
    with pytest.raises(UnknownName, match="did you mean 'simplex'"):
        transport.distance([[0.0]], [[1.0]], method="simples")
    with pytest.raises(UnknownName, match="geometry"):
        transport.distance([[0.0]], [[1.0]], geometry="torus")


def test_a_cloud_and_a_gaussian_meet_on_the_line_either_way():
    a, b = Cloud([[1.0]]), vl.Gaussian(0.0, 4.0)
    for pair in ((a, b), (b, a)):
        assert transport.distance(*pair).power.item() == pytest.approx(5)


def test_half_precision_is_widened():
    x = torch.tensor([[0.0], [1.0]], dtype=torch.bfloat16)
    found = vl.wasserstein(Cloud(x), Cloud(x + 3))
    assert found.dtype == DOUBLE
    assert found.item() == 3


def test_gaussians_have_their_closed_form_for_p_2_only():
    a, b = vl.Gaussian(0.0, 1.0), vl.Gaussian(3.0, 4.0)
    assert vl.wasserstein(a, b).item() ** 2 == pytest.approx(10)
    with pytest.raises(Unsupported, match="p = 1"):
        vl.wasserstein(a, b, 1)
    assert vl.wasserstein(a.to(dtype=torch.float32), b).dtype == DOUBLE
    with pytest.raises(Unsupported, match="gelbrich"):
        vl.wasserstein(Cloud.gaussian(3, d=2), vl.Gaussian([0.0, 0.0], torch.eye(2)))
