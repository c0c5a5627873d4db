"""Mean, covariance and the ranks read from it."""

import math

import pytest
import torch
from torch.testing import assert_close

from vlasov.cloud import Cloud
from vlasov.errors import InvalidValue
from vlasov.observables import Covariance, EffectiveRank, Mean, Rank


def test_c03_covariance_is_that_of_the_empirical_measure():
    assert_close(Covariance()(Cloud([[0.0], [2.0]])).item(), 1.0)


def test_c03_covariance_of_one_token_is_zero():
    assert Covariance()(Cloud([[3.0, 1e9]])).abs().max().item() == 0.0


def test_weights_enter_mean_and_covariance():
    cloud = Cloud([[0.0], [4.0]], weights=[0.75, 0.25])
    assert_close(Mean()(cloud).item(), 1.0)
    assert_close(Covariance()(cloud).item(), 3.0)


def test_covariance_keeps_its_digits_far_from_the_origin():
    shifted = Covariance()(Cloud([[1e8 - 1], [1e8 + 1]]))
    assert shifted.item() == pytest.approx(1.0, rel=1e-12)


def test_covariance_of_hermite_nodes_is_exact():
    cov = torch.tensor([[2.0, 0.5], [0.5, 1.0]], dtype=torch.float64)
    cloud = Cloud.hermite(4, [1.0, -2.0], cov)
    assert_close(Covariance()(cloud), cov, atol=1e-13, rtol=0.0)


@pytest.mark.parametrize("observable", [EffectiveRank(), Rank()])
@pytest.mark.parametrize("rank", [1, 2, 3])
def test_ranks_count_equal_directions(observable, rank):
    axes = torch.eye(4, dtype=torch.float64)[:rank]
    assert_close(observable(Cloud(torch.cat([axes, -axes]))).item(), float(rank))


def test_effective_rank_is_the_exponential_of_the_entropy_of_shares():
    cloud = Cloud([[math.sqrt(3), 0.0], [-math.sqrt(3), 0.0], [0.0, 1.0], [0.0, -1.0]])
    entropy = -(0.75 * math.log(0.75) + 0.25 * math.log(0.25))
    assert_close(EffectiveRank()(cloud).item(), math.exp(entropy))


def test_rank_counts_shares_above_its_threshold():
    cloud = Cloud([[10.0, 0.0], [-10.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
    assert [Rank(threshold=t)(cloud).item() for t in (0.005, 0.05)] == [2.0, 1.0]


@pytest.mark.parametrize("observable", [EffectiveRank(), Rank()])
def test_a_collapsed_cloud_has_rank_zero_and_not_the_rank_of_its_rounding(observable):
    noise = torch.randn(50, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    assert observable(Cloud(3.0 + 1e-16 * noise)).item() == 0.0


@pytest.mark.parametrize("build", [lambda: Rank(threshold=1.0), lambda: EffectiveRank(floor=-0.1)])
def test_thresholds_are_shares_of_the_variance(build):
    with pytest.raises(InvalidValue, match="share of the total variance"):
        build()
