"""Slices: normalisation, errors, and the largest one."""

import math

import ot
import pytest
import torch

import vlasov as vl
from vlasov import Cloud, transport
from vlasov.errors import InvalidValue, ShapeMismatch

DOUBLE = torch.float64


@pytest.fixture
def moved(generator):
    x = torch.randn(200, 4, generator=generator, dtype=DOUBLE)
    return Cloud(x), Cloud(x + torch.tensor([3.0, 0.0, 0.0, 0.0], dtype=DOUBLE))


def draw(generator, n, d=3, *, weighted=False):
    x = torch.randn(n, d, generator=generator, dtype=DOUBLE)
    w = torch.rand(n, generator=generator, dtype=DOUBLE)
    return Cloud(x, w / w.sum() if weighted else None)


@pytest.mark.parametrize("directions", [10, 50, 200, 2000])
def test_the_mean_does_not_depend_on_the_number_of_directions(moved, directions, generator):
    found = transport.sliced(*moved, directions=directions, generator=generator)
    # a translation by 3 along one of 4 axes: 3 / sqrt(4)
    assert abs(found.value.item() - 1.5) < 4 * found.facts["standard error"]
    assert not found.optimal
    assert "estimate" in found.method


def test_given_directions_are_averaged_and_normalised(moved):
    for size in (1.0, 7.0):
        found = transport.sliced(*moved, directions=size * torch.eye(4, dtype=DOUBLE))
        assert found.value.item() == pytest.approx(1.5, rel=1e-14)
        assert found.facts == {"directions": 4}


@pytest.mark.parametrize("p", [1, 2, 3])
@pytest.mark.parametrize("weighted", [False, True])
def test_it_agrees_with_pot_on_the_same_directions(generator, p, weighted):
    a, b = draw(generator, 30, weighted=weighted), draw(generator, 40, weighted=weighted)
    theta = torch.randn(3, 17, generator=generator, dtype=DOUBLE)
    theta = theta / theta.norm(dim=0)
    peer = ot.sliced_wasserstein_distance(
        a.points, b.points, a.weights, b.weights, projections=theta, p=p
    )
    found = transport.sliced(a, b, p, directions=theta.mT)
    assert found.value.item() == pytest.approx(float(peer), rel=1e-11)


def test_the_standard_error_is_that_of_repeated_estimates(generator):
    a, b = draw(generator, 20), draw(generator, 20)
    found = [transport.sliced(a, b, directions=40, generator=generator) for _ in range(200)]
    values = torch.stack([f.value for f in found])
    stated = torch.tensor([f.facts["standard error"] for f in found], dtype=DOUBLE).mean()
    # the spread of a standard deviation of 200 values is 5 %
    assert values.std().item() == pytest.approx(stated.item(), rel=0.25)


def test_one_generator_gives_one_number(generator):
    a, b = draw(generator, 10), draw(generator, 12)
    first, second = (
        transport.sliced(a, b, generator=torch.Generator().manual_seed(3)) for _ in "ab"
    )
    assert first.value == second.value
    assert transport.sliced(a, b).value == transport.sliced(a, b).value != first.value


def test_on_the_line_slices_are_the_distance(generator):
    a, b = draw(generator, 10, 1, weighted=True), draw(generator, 12, 1)
    expected = vl.wasserstein(a, b).item()
    assert transport.sliced(a, b, directions=3).value.item() == pytest.approx(expected, rel=1e-13)
    assert transport.max_sliced(a, b, starts=1).value.item() == pytest.approx(expected, rel=1e-13)


@pytest.mark.parametrize("weighted", [False, True])
def test_slices_lie_below_the_largest_below_the_distance(generator, weighted):
    for p in (1, 2):
        a, b = draw(generator, 25, weighted=weighted), draw(generator, 25)
        mean, largest = transport.sliced(a, b, p), transport.max_sliced(a, b, p, starts=3)
        assert mean.value < largest.value < vl.wasserstein(a, b, p)
        assert not largest.optimal


def test_the_largest_slice_of_the_plane_is_found(generator):
    a, b = draw(generator, 20, 2), draw(generator, 25, 2, weighted=True)
    angles = torch.linspace(0, math.pi, 200, dtype=DOUBLE)
    every = torch.stack((angles.cos(), angles.sin()), -1)
    best = max(float(transport.sliced(a, b, directions=t[None])) for t in every)
    found = transport.max_sliced(a, b, starts=10).value.item()
    assert found >= best
    # a maximum between two of 200 angles, where the slope may jump
    assert found == pytest.approx(best, rel=1e-3)


def test_the_largest_slice_of_a_stretch_is_its_axis(generator):
    x = torch.randn(300, 5, generator=generator, dtype=DOUBLE)
    stretch = torch.diag(torch.tensor([1.0, 1.0, 4.0, 1.0, 1.0], dtype=DOUBLE))
    found = transport.max_sliced(Cloud(x), Cloud(x @ stretch), starts=3)
    axis = transport.distance(Cloud(x[:, 2:3]), Cloud(4 * x[:, 2:3]))
    assert found.value >= axis.value
    assert found.value.item() == pytest.approx(axis.value.item(), rel=0.02)


@pytest.mark.parametrize("weighted", [False, True])
def test_gradients_agree_with_differences(generator, weighted):
    b, w = draw(generator, 6, weighted=weighted), torch.rand(5, generator=generator).softmax(-1)
    x = draw(generator, 5).points.requires_grad_()
    theta = torch.randn(4, 3, generator=generator, dtype=DOUBLE)

    def power(x):
        return transport.sliced(Cloud(x, w if weighted else None), b, directions=theta).power

    assert torch.autograd.gradcheck(power, (x,), eps=1e-7, atol=1e-6)


def test_the_gradient_of_the_largest_slice_is_that_of_its_direction(generator):
    # of a translation along the first axis, which is the direction found
    x = draw(generator, 30).points.requires_grad_()
    y = Cloud(x.detach() + torch.tensor([2.0, 0.0, 0.0], dtype=DOUBLE))
    (slope,) = torch.autograd.grad(transport.max_sliced(Cloud(x), y, starts=1).power, x)
    expected = torch.tensor([-4 / 30, 0.0, 0.0], dtype=DOUBLE).expand(30, 3)
    torch.testing.assert_close(slope, expected, atol=1e-6, rtol=0)


def test_weights_have_gradients(generator):
    x, y = draw(generator, 5), draw(generator, 5)
    logits = torch.zeros(5, dtype=DOUBLE, requires_grad=True)
    theta = torch.eye(3, dtype=DOUBLE)

    def power(u):
        a = Cloud.from_log_weights(x.points, u.log_softmax(-1))
        return transport.sliced(a, y, directions=theta).power

    (slope,) = torch.autograd.grad(power(logits), logits)
    assert slope.isfinite().all()
    assert slope.abs().max() > 0


@pytest.mark.parametrize(
    "slices", [transport.sliced, transport.max_sliced], ids=["mean", "largest"]
)
def test_directions_that_are_none_are_refused(moved, slices):
    name = "directions" if slices is transport.sliced else "starts"
    for bad in (0, -3, torch.zeros(2, 4)):
        with pytest.raises(InvalidValue, match="one direction at least"):
            slices(*moved, **{name: bad})
    with pytest.raises(ShapeMismatch, match="width of the clouds, 4"):
        slices(*moved, **{name: torch.eye(3)})


def test_clouds_of_one_mean_need_no_common_start(generator):
    x = draw(generator, 20).points
    a, b = Cloud(torch.cat((x, -x))), Cloud(torch.cat((2 * x, -2 * x)))
    assert transport.max_sliced(a, b, starts=4).value > transport.sliced(a, b).value


def test_equal_clouds_are_at_distance_zero(generator):
    a = draw(generator, 9)
    assert transport.sliced(a, a).value == 0
    assert transport.sliced(a, a).facts["standard error"] == 0
    assert transport.max_sliced(a, a).value == 0
