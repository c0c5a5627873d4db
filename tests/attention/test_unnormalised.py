import pytest
import torch
from random_sums import GENERAL

from vlasov.attention import Linear, Softmax, Unnormalised
from vlasov.attention.masks import Causal
from vlasov.engines import ENGINES, Dense

LINE = torch.tensor([[[1.0], [2.0], [3.0]]], dtype=torch.float64)
LOG_W = torch.zeros(1, 3, dtype=torch.float64).log_softmax(-1)


@pytest.mark.parametrize("engine", GENERAL)
def test_it_is_the_weighted_sum_of_exponentials(engine: str) -> None:
    found = Unnormalised().average(LINE, LINE, LINE, LOG_W, ENGINES.build(engine))
    scores = LINE[0] @ LINE[0].mT
    torch.testing.assert_close(found[0], scores.exp() @ LINE[0] / 3)


@pytest.mark.parametrize("engine", GENERAL)
def test_overflow_is_infinite_and_never_nan(engine: str) -> None:
    x = torch.tensor([[[-30.0, 0.0], [30.0, 0.0]]], dtype=torch.float64)
    log_w = torch.zeros(1, 2, dtype=torch.float64).log_softmax(-1)
    found = Unnormalised().average(x, x, x, log_w, ENGINES.build(engine))
    assert found[0, :, 0].tolist() == [-torch.inf, torch.inf]
    assert found[0, :, 1].tolist() == [0.0, 0.0]


def test_a_symmetric_cloud_keeps_its_gradient_where_the_sum_is_zero() -> None:
    x = torch.tensor([[[-1.0], [0.0], [1.0]]], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(
        lambda x: Unnormalised().average(x, x, x, LOG_W, Dense()), (x,)
    )


@pytest.mark.parametrize("engine", GENERAL)
def test_under_a_mask_it_is_divided_by_the_weight_that_is_seen(engine: str) -> None:
    mask = Causal().bind(LINE[..., 0], LINE[..., 0])
    found = Unnormalised().average(LINE, LINE, LINE, LOG_W, ENGINES.build(engine), mask=mask)
    scores = (LINE[0] @ LINE[0].mT).exp().tril() / torch.tensor([[1.0], [2.0], [3.0]])
    torch.testing.assert_close(found[0], scores @ LINE[0])


def test_only_linear_and_unnormalised_can_blow_up() -> None:
    assert Softmax().bounded
    assert not Unnormalised().bounded
    assert not Linear().bounded
