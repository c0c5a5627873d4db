import math

import numpy as np
import pytest
import torch
from torch.testing import assert_close

from vlasov.cloud import Cloud
from vlasov.errors import InvalidValue, NotFinite, ShapeMismatch

EPS = torch.finfo(torch.float64).eps
# logarithm, sum and exponential of up to a hundred weights
ROUNDING = {"atol": 100 * EPS, "rtol": 100 * EPS}


def points(*shape: int, dtype: torch.dtype = torch.float64) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(1), dtype=dtype)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_floating_tensors_keep_their_precision(dtype):
    assert Cloud(points(3, 2).to(dtype)).points.dtype == dtype


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_floating_arrays_keep_their_precision(dtype):
    assert str(Cloud(np.zeros((3, 2), dtype)).points.dtype) == f"torch.{np.dtype(dtype).name}"


@pytest.mark.parametrize(
    "given",
    [
        [[1, 2], [3, 4]],
        ((1.0, 2.0), (3.0, 4.0)),
        np.array([[1, 2], [3, 4]], dtype=np.int32),
        np.array([[1, 2], [3, 4]], dtype=">f8"),
        np.array([[3, 4], [1, 2]], dtype=np.float64)[::-1],
        torch.tensor([[1, 2], [3, 4]]),
        [torch.tensor([1, 2]), torch.tensor([3, 4])],
    ],
    ids=["lists", "tuples", "integers", "big-endian", "reversed", "integer tensor", "tensors"],
)
def test_anything_else_becomes_double(given):
    expected = torch.tensor([[1, 2], [3, 4]], dtype=torch.float64)
    assert torch.equal(Cloud(given).points, expected)


def test_a_cloud_does_not_follow_later_changes_of_an_array():
    array = np.zeros((2, 1))
    cloud = Cloud(array)
    array += 1
    assert torch.equal(cloud.points, torch.zeros(2, 1, dtype=torch.float64))


def test_points_keep_their_graph():
    x = points(4, 2).requires_grad_()
    Cloud(x).split(1).to(dtype=torch.float32).points.sum().backward()
    assert torch.equal(x.grad, torch.tensor([1.0, 2.0, 1.0, 1.0])[:, None].expand(4, 2))


def test_sizes_of_a_batch():
    cloud = Cloud(points(5, 4, 3, 2))
    assert (cloud.n, cloud.d, cloud.batch_shape) == (3, 2, (5, 4))
    assert cloud.weights.shape == (5, 4, 3)
    assert Cloud(points(3, 2)).batch_shape == ()


def test_a_cloud_prints_its_shape_and_not_its_numbers():
    expected = "Cloud(shape=(1000, 3), dtype=torch.float64, device=cpu)"
    assert repr(Cloud(points(1000, 3))) == expected


@pytest.mark.parametrize("shape", [(), (5,)])
def test_d07_a_vector_is_refused_with_the_way_to_write_points_on_a_line(shape):
    with pytest.raises(ShapeMismatch, match=r"For n points on a line write `points\[:, None\]`"):
        Cloud(points(*shape))


def test_d07_a_column_is_points_on_a_line():
    assert (Cloud(points(5, 1)).n, Cloud(points(5, 1)).d) == (5, 1)


@pytest.mark.parametrize("shape", [(0, 2), (3, 0), (2, 0, 3)])
def test_an_empty_cloud_is_refused(shape):
    with pytest.raises(ShapeMismatch, match="one token and one coordinate at least"):
        Cloud(points(*shape))


def test_points_that_are_not_finite_are_counted_and_located():
    x = points(3, 2)
    x[1, 0], x[2, 1] = math.nan, math.inf
    with pytest.raises(NotFinite, match=r"Points .* 2 of 6 .* first at index \(1, 0\)"):
        Cloud(x)


def test_ragged_lists_are_refused():
    with pytest.raises(ShapeMismatch, match="unequal lengths"):
        Cloud([[1.0, 2.0], [3.0]])


@pytest.mark.parametrize("given", [[["a"]], [[1j]], np.array([[None]])])
def test_anything_but_real_numbers_is_refused(given):
    with pytest.raises(InvalidValue, match="Points must be real numbers"):
        Cloud(given)


def test_complex_tensors_are_refused():
    with pytest.raises(InvalidValue, match="Pass the real part"):
        Cloud(torch.zeros(2, 2, dtype=torch.complex128))


def test_other_points_keep_weights_and_positions():
    cloud = Cloud(points(2, 1), [0.25, 0.75], [1, 0])
    moved = cloud.with_points(points(2, 1) + 1)
    assert moved.log_weights is cloud.log_weights
    assert moved.positions is cloud.positions


def test_other_points_must_be_as_many():
    with pytest.raises(ShapeMismatch, match=r"must be \(2, 1\) but are \(3, 1\)"):
        Cloud(points(2, 1)).with_points(points(3, 1))


def test_other_positions_keep_the_rest():
    cloud = Cloud(points(2, 1), [0.25, 0.75])
    assert torch.equal(cloud.with_positions([3, 4]).positions, torch.tensor([3.0, 4.0]).double())
    assert cloud.positions is None


def test_another_precision_moves_weights_and_positions_too():
    moved = Cloud(points(2, 1), positions=[0, 1]).to(dtype=torch.float32)
    assert moved.points.dtype == moved.log_weights.dtype == moved.positions.dtype == torch.float32
    assert Cloud(points(2, 1)).to(device="meta").log_weights.device.type == "meta"


@pytest.mark.parametrize("i", [0, 2, -1])
def test_split_halves_a_weight_and_keeps_the_measure(i):
    cloud = Cloud(points(4, 3, 2), [0.25, 0.25, 0.5], [5, 6, 7])
    split = cloud.split(i)
    assert torch.equal(split.points[:, :3], cloud.points)
    assert torch.equal(split.points[:, -1], cloud.points[:, i])
    assert torch.equal(split.positions[:, -1], cloud.positions[:, i])
    mean = (cloud.weights[..., None] * cloud.points).sum(-2)
    assert_close((split.weights[..., None] * split.points).sum(-2), mean, **ROUNDING)
    assert_close(split.weights[:, -1], cloud.weights[:, i] / 2, **ROUNDING)
    assert cloud.weights.shape == (4, 3)


def test_split_of_a_token_that_is_not_there():
    with pytest.raises(IndexError):
        Cloud(points(2, 1)).split(2)


def test_a_member_of_a_batch():
    cloud = Cloud(points(2, 5, 3, 1), positions=[0, 1, 2])
    member = cloud.member((1, -1))
    assert torch.equal(member.points, cloud.points[1, 4])
    assert member.positions.shape == member.log_weights.shape == (3,)
    assert torch.equal(Cloud(points(4, 3, 1)).member(2).points, points(4, 3, 1)[2])


@pytest.mark.parametrize("shape", [(3, 1), (2, 2, 3, 1)])
def test_a_member_needs_one_index_for_each_axis(shape):
    with pytest.raises(ShapeMismatch, match=r"needs one index per axis but got \(0,\)"):
        Cloud(points(*shape)).member(0)


def test_every_law_makes_a_cloud():
    clouds = [
        Cloud.gaussian(5, [0.0, 1.0], seed=3, dtype=torch.float32, device="cpu"),
        Cloud.gaussian(5, d=2, dtype=torch.bfloat16),
        Cloud.sphere(5, 2, radius=2.0, seed=3, dtype=torch.float32),
        Cloud.ball(5, 2, radius=2.0, seed=3),
        Cloud.mixture(5, [[0.0, 0.0], [1.0, 1.0]], torch.eye(2), seed=3),
        Cloud.hermite(5, [0.0, 1.0], [[1.0, 0.0], [0.0, 0.0]]),
        Cloud.quantiles(5, 1.0, 2.0),
        Cloud.quantiles_of(5, torch.log),
    ]
    assert [cloud.n for cloud in clouds] == [5] * 8
    assert [cloud.d for cloud in clouds] == [2] * 6 + [1] * 2
    assert clouds[0].points.dtype == clouds[2].log_weights.dtype == torch.float32


def test_a_precision_rounds_the_same_draws():
    double, single = (
        Cloud.gaussian(9, d=2, seed=7, dtype=t) for t in (torch.float64, torch.float32)
    )
    assert torch.equal(double.points.float(), single.points)


@pytest.mark.gpu
def test_a_seed_gives_the_same_numbers_on_every_device():
    here, there = (Cloud.gaussian(9, d=2, seed=7, device=place) for place in ("cpu", "cuda"))
    assert torch.equal(here.points, there.points.cpu())
