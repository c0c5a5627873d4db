"""Laws of every observable of the catalogue: it is a function of the measure."""

import pytest
import torch
from torch.testing import assert_close

from vlasov.cloud import Cloud
from vlasov.observables import OBSERVABLES

every_observable = pytest.mark.parametrize("name", list(OBSERVABLES))


def require_close(found: torch.Tensor, wanted: torch.Tensor) -> None:
    # sums of a dozen numbers of order one, in another order
    assert_close(found, wanted, atol=1e-13, rtol=1e-13)


def weighted_cloud(*batch: int, seed: int = 0) -> Cloud:
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(*batch, 12, 3, generator=generator, dtype=torch.float64) / 5
    w = torch.rand(*batch, 12, generator=generator, dtype=torch.float64)
    return Cloud(x, w / w.sum(-1, keepdim=True))


@every_observable
def test_spec_builds_the_same_observable_again(name):
    observable = OBSERVABLES.build(name)
    assert OBSERVABLES.build(OBSERVABLES.spec(observable)) == observable


@every_observable
def test_order_of_tokens_changes_nothing(name):
    cloud, observable = weighted_cloud(), OBSERVABLES.build(name)
    order = torch.randperm(cloud.n, generator=torch.Generator().manual_seed(1))
    shuffled = Cloud(cloud.points[order], cloud.weights[order])
    require_close(observable(shuffled), observable(cloud))


@every_observable
@pytest.mark.parametrize("token", [0, 7])
def test_splitting_a_token_changes_nothing(name, token):
    cloud, observable = weighted_cloud(), OBSERVABLES.build(name)
    require_close(observable(cloud.split(token)), observable(cloud))


@every_observable
def test_a_token_of_weight_zero_is_not_there(name):
    cloud, observable = weighted_cloud(), OBSERVABLES.build(name)
    far = torch.full((1, 3), -50.0, dtype=torch.float64)
    ghost = Cloud(
        torch.cat([far, cloud.points]), torch.cat([torch.zeros(1).double(), cloud.weights])
    )
    require_close(observable(ghost), observable(cloud))


@every_observable
def test_a_batch_is_its_members_side_by_side(name):
    cloud, observable = weighted_cloud(2, 3), OBSERVABLES.build(name)
    value = observable(cloud)
    assert value.shape[:2] == (2, 3)
    require_close(value[1, 2], observable(cloud.member((1, 2))))


@every_observable
def test_one_token_has_a_finite_value(name):
    value = OBSERVABLES.build(name)(Cloud([[0.3, -0.4]]))
    assert bool(value.isfinite().all())


@every_observable
def test_a_member_that_is_not_finite_is_nan_and_spares_the_others(name):
    cloud, observable = weighted_cloud(2), OBSERVABLES.build(name)
    broken = cloud.points.clone()
    broken[0, 3, 1] = torch.inf
    value = observable(cloud.with_points(broken))
    assert bool(value[0].isnan().all())
    require_close(value[1], observable(cloud)[1])


@every_observable
def test_half_precision_clouds_are_measured_in_single_precision(name):
    half = weighted_cloud().to(dtype=torch.float16)
    observable = OBSERVABLES.build(name)
    value = observable(half)
    assert value.dtype == torch.float32
    assert_close(value, observable(half.to(dtype=torch.float32)))


@every_observable
def test_the_cloud_is_left_as_it_was(name):
    cloud = weighted_cloud()
    points, log_weights = cloud.points.clone(), cloud.log_weights.clone()
    OBSERVABLES.build(name)(cloud)
    assert torch.equal(cloud.points, points)
    assert torch.equal(cloud.log_weights, log_weights)
