"""d_p of masked clouds: limits, splitting, the bound by W_p, refusals by name."""

import math

import pytest
import torch

from vlasov.cloud import Cloud
from vlasov.errors import InvalidValue, NotFinite, ShapeMismatch
from vlasov.transport.conditional import conditional_distance
from vlasov.transport.wasserstein import distance

DOUBLE = torch.float64


def _cloud(groups, per_group, d, generator):
    n = groups * per_group
    x = torch.randn(n, d, generator=generator, dtype=DOUBLE)
    w = torch.rand(groups, per_group, generator=generator, dtype=DOUBLE)
    w = w / w.sum(-1, keepdim=True) / groups
    positions = torch.arange(groups).repeat_interleave(per_group)
    order = torch.randperm(n, generator=generator)
    return Cloud(x[order], w.flatten()[order], positions[order])


@pytest.mark.parametrize("p", [1, 2, 3.5])
def test_one_position_is_the_plain_distance(p, generator):
    a, b = _cloud(1, 9, 2, generator), _cloud(1, 7, 2, generator)
    found = conditional_distance(a, b, p)
    assert found.value.item() == pytest.approx(distance(a, b, p).value.item(), rel=1e-12)
    assert found.optimal
    assert found.gap is not None


@pytest.mark.parametrize("p", [1, 2])
def test_one_token_at_each_position_is_the_distance_token_by_token(p, generator):
    a, b = (_cloud(30, 1, 3, generator) for _ in range(2))
    x, y = (c.points[c.positions.argsort()] for c in (a, b))
    wanted = (x - y).norm(dim=-1).pow(p).mean().pow(1 / p)
    assert conditional_distance(a, b, p).value.item() == pytest.approx(wanted.item(), rel=1e-12)


@pytest.mark.parametrize("p", [1, 2])
def test_it_is_the_mean_power_over_positions(p, generator):
    a, b = _cloud(3, 5, 2, generator), _cloud(3, 4, 2, generator)
    powers = []
    for s in range(3):
        parts = [(c.points[c.positions == s], c.weights[c.positions == s]) for c in (a, b)]
        first, second = (Cloud(x, w / w.sum()) for x, w in parts)
        powers.append(distance(first, second, p).power.item())
    found = conditional_distance(a, b, p)
    assert found.power.item() == pytest.approx(sum(powers) / 3, rel=1e-12)
    assert found.facts["positions"] == 3


def test_it_lies_above_the_distance_without_positions(generator):
    for _ in range(5):
        a, b = _cloud(4, 3, 2, generator), _cloud(4, 3, 2, generator)
        assert conditional_distance(a, b).value >= distance(a, b).value - 1e-12


def test_groups_of_one_token_and_of_many_meet(generator):
    many = Cloud([[0.0], [2.0], [5.0]], [0.25, 0.25, 0.5], [0, 0, 1])
    single = Cloud([[1.0], [5.5]], [0.5, 0.5], [0, 1])
    assert conditional_distance(many, single).power.item() == pytest.approx(0.625, abs=1e-14)


def test_splitting_a_token_changes_nothing(generator):
    a, b = _cloud(3, 4, 2, generator), _cloud(3, 4, 2, generator)
    whole, split = conditional_distance(a, b), conditional_distance(a.split(2), b)
    assert split.value.item() == pytest.approx(whole.value.item(), rel=1e-10)


def test_a_token_without_weight_needs_no_partner():
    a = Cloud([[0.0], [9.0]], [1.0, 0.0], [0, 7])
    assert conditional_distance(a, Cloud([[1.0]], positions=[0.0])).value.item() == 1


def test_gradients_agree_with_differences(generator):
    a, b = _cloud(3, 2, 2, generator), _cloud(3, 2, 2, generator)
    single = _cloud(3, 1, 2, generator)
    for first, second in ((a, b), (single, a), (single, _cloud(3, 1, 2, generator))):
        x = first.points.clone().requires_grad_()
        assert torch.autograd.gradcheck(
            lambda x, first=first, second=second: (
                conditional_distance(first.with_points(x), second).power
            ),
            x,
        )


def test_what_has_no_conditional_distance_is_refused(generator):
    a = _cloud(2, 2, 1, generator)
    plain = Cloud([[0.0], [1.0]])
    with pytest.raises(InvalidValue, match="second cloud has none"):
        conditional_distance(a, plain)
    with pytest.raises(InvalidValue, match="1 are in one only, the first 2"):
        conditional_distance(a, _cloud(3, 1, 1, generator))
    with pytest.raises(InvalidValue, match=r"the clouds have 0\.5 and 0\.[37]"):
        conditional_distance(a, Cloud([[0.0], [1.0]], [0.3, 0.7], [0, 1]))
    with pytest.raises(ShapeMismatch, match="width"):
        conditional_distance(a, _cloud(2, 2, 2, generator))
    with pytest.raises(InvalidValue, match="at least 1"):
        conditional_distance(a, a, 0.5)
    with pytest.raises(NotFinite):
        conditional_distance(a, a.with_points(torch.full_like(a.points, math.nan)))
