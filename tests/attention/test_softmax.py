import math

import pytest
import torch
from random_sums import EXPONENTIAL_ONLY, GENERAL
from torch import Tensor

from vlasov.attention import Softmax
from vlasov.attention.masks import Causal, Explicit
from vlasov.engines import ENGINES, Dense, Visibility
from vlasov.errors import EngineUnsupported

LINE = torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64)
# The values of cases.md carry six decimals.
SIX = {"rtol": 0, "atol": 6e-7}


def field(x: Tensor, engine: str, *, beta: float = 1.0, mask: Visibility | None = None) -> Tensor:
    """Softmax attention of points on the line with equal weights, Q = K = V = 1."""
    cloud, flat = x[None, :, None], torch.zeros(1, len(x), dtype=x.dtype)
    evaluate = ENGINES.build(engine)
    seen = Softmax().average(cloud, cloud, cloud, flat, evaluate, beta=beta, mask=mask)
    return seen[0, :, 0]


def close(found: Tensor, wanted: list[float]) -> None:
    torch.testing.assert_close(found, torch.tensor(wanted, dtype=found.dtype), **SIX)


@pytest.mark.parametrize("engine", [name for name in GENERAL if name not in EXPONENTIAL_ONLY])
def test_a01_a_row_without_keys_is_zero_and_poisons_no_gradient(engine: str) -> None:
    x = LINE.clone().requires_grad_()
    rows = torch.tensor([[False, False, False], [True, True, False], [True, True, True]])
    seen = field(x, engine, mask=Explicit(rows).bind(LINE[None], LINE[None]))
    close(seen.detach(), [0.0, 1.880797, 2.947975])
    (gradient,) = torch.autograd.grad(seen[1] + seen[2], x)
    close(gradient, [-0.102195, 1.108534, 1.152684])


@pytest.mark.parametrize("engine", [name for name in GENERAL if name != "tree"])  # gradients
def test_a01_a_causal_query_before_every_key_is_zero(engine: str) -> None:
    x = LINE[None, :, None].clone().requires_grad_()
    positions = torch.tensor([[1.0, 2.0, 3.0]], dtype=torch.float64)
    mask = Causal().bind(positions - 0.5, positions)
    flat = torch.zeros(1, 3, dtype=torch.float64)
    seen = Softmax().average(x, x, x, flat, ENGINES.build(engine), mask=mask)
    assert seen[0, :, 0].tolist() == pytest.approx([0.0, 1.0, 1 + 1 / (1 + math.exp(-3))])
    (gradient,) = torch.autograd.grad(seen.sum(), x)
    assert gradient.isfinite().all()


@pytest.mark.parametrize("engine", GENERAL)
def test_a02_causal_order_sees_the_past(engine: str) -> None:
    mask = Causal().bind(LINE[None], LINE[None])
    close(field(LINE, engine, mask=mask), [1.0, 1.880797, 2.947975])


@pytest.mark.parametrize("engine", GENERAL)
@pytest.mark.parametrize(("last", "wanted"), [(1, [2.947975]), (2, [1.880797, 2.947975])])
def test_a03_fewer_queries_than_keys_see_up_to_their_own_time(
    engine: str, last: int, wanted: list[float]
) -> None:
    x, flat = LINE[None, :, None], torch.zeros(1, 3, dtype=torch.float64)
    mask = Causal().bind(LINE[None, -last:], LINE[None])
    seen = Softmax().average(x[:, -last:], x, x, flat, ENGINES.build(engine), mask=mask)
    close(seen[0, :, 0], wanted)


@pytest.mark.parametrize("engine", GENERAL)
@pytest.mark.parametrize("half", [torch.float16, torch.bfloat16], ids=str)
def test_a04_scores_do_not_overflow_in_half_precision(engine: str, half: torch.dtype) -> None:
    x = torch.tensor([300.0, 0.0], dtype=half)
    seen = field(x, engine)
    assert seen.dtype == half
    assert seen.tolist() == [300.0, 150.0]


@pytest.mark.parametrize("engine", GENERAL)
def test_a05_no_overflow_at_large_beta(engine: str) -> None:
    x = torch.tensor([-1.0, 0.0, 1.0], dtype=torch.float64)
    assert field(x, engine, beta=1e4).tolist() == pytest.approx([-1.0, 0.0, 1.0], abs=1e-15)


@pytest.mark.parametrize("engine", GENERAL)
def test_a06_two_calls_are_bitwise_equal_and_nothing_is_dropped(engine: str) -> None:
    g = torch.Generator().manual_seed(0)
    x = torch.randn(64, generator=g, dtype=torch.float64)
    assert torch.equal(field(x, engine), field(x, engine))
    torch.testing.assert_close(field(x, engine), field(x, "dense"))


@pytest.mark.parametrize("engine", GENERAL)
def test_a07_heads_are_split_along_the_width_not_the_tokens(engine: str) -> None:
    x = torch.tensor([[1.0, 0, 0, 1], [0, 1, 1, 0], [1, 1, -1, 0]], dtype=torch.float64)
    heads = x.unflatten(-1, (2, 2)).transpose(0, 1)
    flat = torch.zeros(1, 3, dtype=torch.float64)
    seen = Softmax().average(
        heads, heads, heads, flat, ENGINES.build(engine), beta=1 / math.sqrt(2)
    )
    wanted = [
        [0.802224, 0.598888, 0, 0.503490],
        [0.598888, 0.802224, 0.435946, 0.283995],
        [0.751745, 0.751745, -0.435946, 0.283995],
    ]
    merged = seen.transpose(0, 1).flatten(-2)
    torch.testing.assert_close(merged, torch.tensor(wanted, dtype=torch.float64), **SIX)


@pytest.mark.parametrize("engine", GENERAL)
def test_a08_softmax_averages_over_the_measure(engine: str) -> None:
    wanted = [2.575210, 2.850937, 2.947975]
    close(field(LINE, engine), wanted)
    close(field(LINE.repeat(2), engine), wanted * 2)


def test_an_explicit_mask_is_refused_by_fused_by_name() -> None:
    mask = Explicit(torch.ones(3, 3, dtype=torch.bool)).bind(LINE[None], LINE[None])
    with pytest.raises(EngineUnsupported, match="explicit mask"):
        field(LINE, "fused", mask=mask)


def test_with_the_identity_as_values_the_answer_is_the_matrix_of_weights() -> None:
    x, flat = LINE[None, :, None], torch.zeros(1, 3, dtype=torch.float64)
    weights = Softmax().average(x, x, torch.eye(3, dtype=torch.float64)[None], flat, Dense())
    torch.testing.assert_close(weights[0], (x[0] @ x[0].mT).softmax(-1))
