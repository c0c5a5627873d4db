import torch

from vlasov.attention import Linear
from vlasov.attention.masks import Alibi, Causal
from vlasov.engines import Dense, Fused, Tiled

LINE = torch.tensor([[[1.0], [2.0], [3.0]]], dtype=torch.float64)
LOG_W = torch.tensor([[0.2, 0.3, 0.5]], dtype=torch.float64).log()


def test_the_second_moment_gives_the_pair_sum() -> None:
    found = Linear().average(LINE, LINE, LINE, LOG_W, Dense(), beta=0.5)
    wanted = Dense().pair_sum(lambda s: 0.5 * s, LINE, LINE, LINE, LOG_W)
    torch.testing.assert_close(found, wanted)


def test_without_a_mask_any_engine_will_do() -> None:
    fused = Linear().average(LINE, LINE, LINE, LOG_W, Fused())
    torch.testing.assert_close(fused, Linear().average(LINE, LINE, LINE, LOG_W, Tiled()))


def test_under_a_causal_mask_it_is_divided_by_the_weight_that_is_seen() -> None:
    mask = Causal().bind(LINE[..., 0], LINE[..., 0])
    found = Linear().average(LINE, LINE, LINE, LOG_W, Dense(), mask=mask)
    second = [0.2, 0.2 + 1.2, 0.2 + 1.2 + 4.5]
    wanted = [x * m / w for x, m, w in zip([1, 2, 3], second, [0.2, 0.5, 1.0], strict=True)]
    torch.testing.assert_close(found[0, :, 0], torch.tensor(wanted, dtype=torch.float64))


def test_alibi_lowers_the_score_itself() -> None:
    mask = Alibi(0.5).bind(LINE[..., 0], LINE[..., 0])
    found = Linear().average(LINE, LINE, LINE, LOG_W, Dense(), mask=mask)
    x = LINE[0]
    wanted = (x @ x.mT - 0.5 * (x - x.mT).abs()) @ (LOG_W.exp().mT * x)
    torch.testing.assert_close(found[0], wanted)
