import torch

from vlasov.engines import Dense


def test_a_kernel_that_overflows_on_hidden_keys_keeps_its_gradient() -> None:
    from vlasov.attention.masks import Explicit

    x = torch.tensor([[[1.0], [800.0]]], dtype=torch.float64, requires_grad=True)
    positions = torch.arange(2.0, dtype=torch.float64)[None]
    mask = Explicit([[True, False], [True, False]]).bind(positions, positions)
    total = Dense().pair_sum(
        torch.exp, x[:, :1], x, x, torch.zeros(1, 2, dtype=torch.float64), mask=mask.rows(slice(1))
    )
    (gradient,) = torch.autograd.grad(total.sum(), x)
    # d/dx of x exp(x^2) at x = 1, seen key and query being the same point.
    assert abs(gradient[0, 0, 0].item() - 3 * torch.e) < 1e-14 * 10
    assert gradient[0, 1, 0] == 0


def test_scores_within_the_tie_share_the_lead() -> None:
    q = torch.ones(1, 1, 1, dtype=torch.float64)
    k = torch.tensor([[[1.0], [1.0 - 1e-9], [0.5]]], dtype=torch.float64)
    v = torch.tensor([[[1.0], [2.0], [3.0]]], dtype=torch.float64)
    flat = torch.zeros(1, 3, dtype=torch.float64)
    assert Dense().leader_average(q, k, v, flat, tie=1e-8).item() == 1.5
    assert Dense().leader_average(q, k, v, flat, tie=1e-10).item() == 1.0
