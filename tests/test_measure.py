"""The weights and positions of a cloud."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.testing import assert_close

from vlasov.cloud import Cloud
from vlasov.errors import InvalidValue, NotFinite, ShapeMismatch

EPS = torch.finfo(torch.float64).eps
# logarithm, sum and exponential of up to a hundred weights
ROUNDING = {"atol": 100 * EPS, "rtol": 100 * EPS}


def points(*shape: int, dtype: torch.dtype = torch.float64) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(1), dtype=dtype)


@settings(deadline=None)  # the first example pays for imports
@given(raw=st.lists(st.floats(min_value=1e-6, max_value=1.0), min_size=1, max_size=30))
def test_weights_are_normalised(raw):
    weights = torch.tensor(raw, dtype=torch.float64)
    weights = weights / weights.sum()
    cloud = Cloud(points(len(raw), 1), weights)
    assert_close(cloud.log_weights.logsumexp(-1).item(), 0.0, **ROUNDING)
    assert_close(cloud.weights, weights, **ROUNDING)


def test_default_weights_are_equal():
    cloud = Cloud(points(2, 7, 1))
    assert torch.equal(cloud.log_weights, torch.full((2, 7), -math.log(7), dtype=torch.float64))


def test_weights_typed_with_six_digits_are_normalised_exactly():
    cloud = Cloud(points(3, 1), [0.3333333, 0.3333333, 0.3333333])
    assert_close(cloud.weights.sum().item(), 1.0, **ROUNDING)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_weights_of_half_precision_clouds_are_held_in_single(dtype):
    cloud = Cloud(points(100, 1, dtype=dtype), positions=torch.arange(1000, 1100))
    assert cloud.log_weights.dtype == cloud.positions.dtype == torch.float32
    assert cloud.positions[-1] == 1099
    single = torch.finfo(torch.float32).eps
    assert_close(cloud.weights.sum().item(), 1.0, atol=100 * single, rtol=0)


def test_weights_of_one_cloud_serve_the_batch():
    cloud = Cloud(points(2, 3, 1), [0.5, 0.25, 0.25], [2, 0, 1])
    assert_close(cloud.weights[1], torch.tensor([0.5, 0.25, 0.25]).double(), **ROUNDING)
    assert torch.equal(cloud.positions[1], torch.tensor([2.0, 0.0, 1.0]).double())


def test_d08_a_zero_weight_is_kept():
    cloud = Cloud([[0.0], [1.0], [2.0]], [0.5, 0.5, 0.0])
    assert cloud.weights[2] == 0
    assert cloud.log_weights[2] == -math.inf


def test_d08_three_weights_for_four_points_are_refused():
    with pytest.raises(ShapeMismatch, match=r"need weights of shape \(4,\) but got \(3,\)"):
        Cloud(points(4, 2), [0.5, 0.25, 0.25])


@pytest.mark.parametrize(("weights", "total"), [([0.6, 0.5], "1.1"), ([0.0, 0.0], "0")])
def test_d08_weights_that_do_not_sum_to_one_are_refused(weights, total):
    with pytest.raises(InvalidValue, match=f"sum to {total}. Divide them by their sum"):
        Cloud(points(2, 1), weights)


def test_d08_one_wrong_sum_in_a_batch_is_refused():
    with pytest.raises(InvalidValue, match=r"sum to 1 but sum to 1.5"):
        Cloud(points(2, 2, 1), [[0.5, 0.5], [0.5, 1.0]])


def test_negative_weights_are_refused():
    with pytest.raises(InvalidValue, match=r"the smallest is -0.5"):
        Cloud(points(2, 1), [1.5, -0.5])


def test_weights_that_are_not_finite_are_refused():
    with pytest.raises(NotFinite, match="Weights must be finite"):
        Cloud(points(2, 1), [math.nan, 1.0])


def test_positions_that_do_not_fit_are_refused():
    with pytest.raises(ShapeMismatch, match=r"need positions of shape \(2,\) but got \(3,\)"):
        Cloud(points(2, 1), positions=[0, 1, 2])
    with pytest.raises(NotFinite, match="Positions must be finite"):
        Cloud(points(2, 1)).with_positions([0.0, math.inf])


def test_known_log_weights_are_kept_bit_for_bit():
    log_w = torch.tensor([0.3, 0.7], dtype=torch.float64).log()
    assert Cloud.from_log_weights(points(2, 1), log_w).log_weights is log_w


def test_known_log_weights_must_be_normalised():
    with pytest.raises(InvalidValue, match="log_softmax"):
        Cloud.from_log_weights(points(2, 1), torch.zeros(2, dtype=torch.float64))


def test_known_states_may_hold_nan():
    x = torch.full((2, 1), math.nan, dtype=torch.float64)
    assert Cloud.from_log_weights(x, Cloud(points(2, 1)).log_weights).points.isnan().all()
