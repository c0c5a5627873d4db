import pytest
import torch
from random_sums import EXPONENTIAL_ONLY, GENERAL

from vlasov.attention import Hardmax, Softmax
from vlasov.engines import ENGINES, Dense
from vlasov.errors import InvalidValue

LOG_W = torch.zeros(1, 3, dtype=torch.float64).log_softmax(-1)


@pytest.mark.parametrize("engine", [name for name in GENERAL if name not in EXPONENTIAL_ONLY])
def test_ties_share_the_lead(engine: str) -> None:
    x = torch.tensor([[[-1.0], [0.0], [1.0]]], dtype=torch.float64)
    found = Hardmax().average(x, x, x, LOG_W, ENGINES.build(engine))
    assert found[0, :, 0].tolist() == [-1.0, 0.0, 1.0]


def test_it_is_the_limit_of_softmax_at_large_beta() -> None:
    g = torch.Generator().manual_seed(0)
    x = torch.randn(1, 3, 2, generator=g, dtype=torch.float64)
    hard = Hardmax().average(x, x, x, LOG_W, Dense())
    torch.testing.assert_close(hard, Softmax().average(x, x, x, LOG_W, Dense(), beta=1e6))


def test_a_negative_beta_turns_to_the_smallest_score() -> None:
    x = torch.tensor([[[1.0], [2.0], [3.0]]], dtype=torch.float64)
    assert Hardmax().average(x, x, x, LOG_W, Dense(), beta=-1.0).unique().tolist() == [1.0]


def test_leaders_count_by_their_weight() -> None:
    x = torch.tensor([[[1.0, 0.0], [1.0, 1.0], [0.0, 5.0]]], dtype=torch.float64)
    log_w = torch.tensor([[0.1, 0.3, 0.6]], dtype=torch.float64).log()
    q = torch.tensor([[[1.0, 0.0]]], dtype=torch.float64)
    found = Hardmax().average(q, x, x, log_w, Dense())
    assert found[0, 0].tolist() == pytest.approx([1.0, 0.75])


@pytest.mark.parametrize("tie", [-1e-3, 1.0])
def test_a_tie_outside_its_range_is_refused(tie: float) -> None:
    with pytest.raises(InvalidValue, match="0 <= tie < 1"):
        Hardmax(tie=tie)
