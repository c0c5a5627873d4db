import pytest
import torch
from random_sums import EXPONENTIAL_ONLY, GENERAL

from vlasov.attention import Sigmoid
from vlasov.attention.masks import Alibi, Window
from vlasov.engines import ENGINES, Dense
from vlasov.errors import EngineUnsupported, InvalidValue

LINE = torch.tensor([[[1.0], [2.0], [3.0]]], dtype=torch.float64)
LOG_W = torch.zeros(1, 3, dtype=torch.float64).log_softmax(-1)


@pytest.mark.parametrize("engine", [name for name in GENERAL if name not in EXPONENTIAL_ONLY])
def test_a08_sigmoid_is_a_mean_over_the_cloud(engine: str) -> None:
    wanted = torch.tensor([1.783458, 1.945802, 1.982420], dtype=torch.float64)
    found = Sigmoid().average(LINE, LINE, LINE, LOG_W, ENGINES.build(engine))
    torch.testing.assert_close(found[0, :, 0], wanted, rtol=0, atol=6e-7)
    x, log_w = LINE.repeat(1, 2, 1), torch.zeros(1, 6, dtype=torch.float64).log_softmax(-1)
    doubled = Sigmoid().average(x, x, x, log_w, ENGINES.build(engine))
    torch.testing.assert_close(doubled[:, :3], found)


def test_the_bias_and_the_alibi_penalty_are_inside_the_sigmoid() -> None:
    mask = Alibi(0.5).bind(LINE[..., 0], LINE[..., 0])
    found = Sigmoid(bias=-1.0).average(LINE, LINE, LINE, LOG_W, Dense(), beta=0.7, mask=mask)
    x = LINE[0]
    scores = 0.7 * x @ x.mT - 0.5 * (x - x.mT).abs() - 1
    torch.testing.assert_close(found[0], scores.sigmoid() @ x / 3)


def test_in_a_window_it_is_divided_by_the_weight_that_is_seen() -> None:
    mask = Window(1.0).bind(LINE[..., 0], LINE[..., 0])
    found = Sigmoid().average(LINE, LINE, LINE, LOG_W, Dense(), mask=mask)
    x = LINE[0]
    seen = (x - x.mT).abs() <= 1
    weights = (x @ x.mT).sigmoid() * seen / seen.sum(-1, keepdim=True)
    torch.testing.assert_close(found[0], weights @ x)


def test_fused_names_an_engine_that_can() -> None:
    with pytest.raises(EngineUnsupported, match="'tiled' or 'dense'"):
        Sigmoid().average(LINE, LINE, LINE, LOG_W, ENGINES.build("fused"))


def test_a_bias_that_is_no_number_is_refused() -> None:
    with pytest.raises(InvalidValue, match="finite bias but got inf"):
        Sigmoid(bias=float("inf"))
