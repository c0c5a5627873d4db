import pytest
import torch
from torch.testing import assert_close

from vlasov.errors import InvalidValue, NotFinite, ShapeMismatch
from vlasov.projections import Projections

EPS = torch.finfo(torch.float64).eps
# sums of three products of numbers of order one, in another order
ROUNDING = {"atol": 50 * EPS, "rtol": 50 * EPS}
H, K, D, N = 2, 4, 3, 5


def drawn(*shape: int, seed: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, generator=generator, dtype=torch.float64)


def growing(t: float) -> torch.Tensor:
    return (1 + t) * torch.eye(D, dtype=torch.float64)


@pytest.fixture
def moving() -> Projections:
    return Projections(
        growing, torch.eye(D).expand(H, D, D), growing, value_bias=lambda t: [t] * D
    )


def test_a_callable_is_evaluated_at_the_time(moving):
    now, x = moving.at(2.0), drawn(N, D)
    assert (moving.heads, moving.width) == (H, D)
    q, k, v = now.project(x)
    assert_close(q, 3 * x.expand(H, N, D), **ROUNDING)
    assert_close(k, x.expand(H, N, D), **ROUNDING)
    assert_close(v, 3 * x.expand(H, N, D) + 2, **ROUNDING)


def test_constant_maps_are_themselves_at_any_time():
    p = Projections.identity(D)
    assert p.at(3.0) is p
    assert p.at(torch.tensor([1.0, 2.0])) is p
    assert p.breakpoints(0.0, 5.0) == []


@pytest.mark.parametrize("shape", [(4,), (2, 2)])
def test_times_of_a_batch_act_on_its_clouds(moving, shape):
    t, x = torch.arange(4.0).reshape(shape), drawn(*shape, N, D)
    joined = moving.at(t)
    assert joined.query.shape == (*shape, H, D, D)
    for index in torch.cartesian_prod(*(torch.arange(s) for s in shape)).reshape(-1, len(shape)):
        member = tuple(index.tolist())
        alone = moving.at(float(t[member])).project(x[member])
        for one, part in zip(joined.project(x), alone, strict=True):
            assert_close(one[member], part, **ROUNDING)


@pytest.mark.parametrize("t", [torch.tensor(2.0), torch.tensor([2.0, 2.0])])
def test_equal_times_share_their_maps(moving, t):
    assert torch.equal(moving.at(t).query, moving.at(2.0).query)


def test_maps_of_a_batch_do_not_take_times_of_a_batch():
    p = Projections(lambda t: drawn(2, 1, D, D) + t, torch.eye(D), torch.eye(D))
    with pytest.raises(ShapeMismatch, match="Run the clouds one by one"):
        p.at(torch.tensor([0.0, 1.0]))


def test_maps_whose_shape_changes_do_not_take_times_of_a_batch():
    p = Projections(lambda t: drawn(1 + int(t), D, D), torch.eye(D), torch.eye(D))
    with pytest.raises(ShapeMismatch, match="query of one shape without batch axes"):
        p.at(torch.tensor([0.0, 1.0]))


def test_maps_that_depend_on_time_move_to_another_precision(moving):
    moved = moving.to(dtype=torch.float32)
    assert {tensor.dtype for tensor in moved.tensors()} == {torch.float32}
    assert torch.equal(moved.at(1.0).query, moving.at(1.0).query.float())


def test_maps_that_depend_on_time_do_not_act_without_one(moving):
    with pytest.raises(InvalidValue, match=r"\['query', 'value', 'value_bias'\] depend on time"):
        moving.project(drawn(N, D))


def test_a_wrong_callable_is_refused_at_once():
    with pytest.raises(ShapeMismatch, match="needs a value"):
        Projections(torch.eye(2), torch.eye(2), lambda t: t * torch.ones(2, 3))


def test_a_callable_that_grows_without_bound_is_refused_at_its_time():
    p = Projections(torch.eye(2), torch.eye(2), lambda t: torch.eye(2) / (1 - t))
    with pytest.raises(NotFinite, match="The value must be finite"):
        p.at(1.0)
