import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from random_sums import MASK_KINDS, random_sum

from vlasov.attention.masks import Alibi, Explicit, Window
from vlasov.engines import Visibility

LINE = torch.arange(3.0, dtype=torch.float64)[None]


@pytest.mark.parametrize("kind", MASK_KINDS[1:])
@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=20, deadline=None)
def test_visible_weight_is_the_sum_over_visible_keys(kind: str, seed: int) -> None:
    problem = random_sum(seed, kind)
    mask, w = problem.mask, problem.logits.exp()
    assert mask is not None
    visible = mask.visible()
    seen = torch.ones(1, 1, dtype=torch.bool) if visible is None else visible
    wanted = torch.where(seen, w.unsqueeze(-2), 0.0).sum(-1)
    found = mask.visible_weight(problem.logits)
    torch.testing.assert_close(found, wanted.expand_as(found))


def test_the_border_of_a_window_falls_where_the_comparison_puts_it() -> None:
    # 0.3 - 0.1 rounds below 0.2 and 0.4 - 0.2 to it: sums of positions and width would differ.
    grid = (torch.arange(40, dtype=torch.float64) * 0.1)[None]
    for steps in range(1, 20):
        mask = Window(width=steps * 0.1).bind(grid, grid)
        visible = mask.visible()
        assert visible is not None
        counts = mask.visible_weight(torch.zeros(1, 40, dtype=torch.float64))
        assert torch.equal(counts, visible.double().sum(-1))


def test_a_narrow_window_among_many_keys_keeps_its_digits() -> None:
    n = 20_000
    grid = torch.arange(n, dtype=torch.float32)[None]
    weights = torch.full((1, n), 1 / n).log()
    seen = Window(width=0.0).bind(grid, grid).visible_weight(weights)
    # One logarithm and one exponential of numbers near 10.
    torch.testing.assert_close(seen, weights.exp(), rtol=1e-6, atol=0)


def test_visible_weight_carries_gradients() -> None:
    log_w = torch.zeros(1, 3, dtype=torch.float64, requires_grad=True)
    mask = Window(width=1.0, causal=True).bind(LINE, LINE)
    assert torch.autograd.gradcheck(mask.visible_weight, (log_w,))


def test_one_head_keeps_its_slope_and_its_matrix() -> None:
    matrix = torch.zeros(2, 3, 3, dtype=torch.bool)
    matrix[1] = True
    mask = Visibility(LINE, LINE, slope=torch.tensor([0.1, 0.2]), matrix=matrix)
    head = mask.head(1)
    assert head.slope is not None
    assert head.matrix is not None
    assert head.slope.tolist() == pytest.approx([0.2])
    assert head.matrix.all()


@pytest.mark.parametrize(
    ("mask", "symmetric"),
    [
        (Window(1.0), True),
        (Window(1.0, causal=True), False),
        (Alibi(0.5), True),
        (Explicit([[True, True, False]] * 3), False),
        (Explicit(torch.eye(3, dtype=torch.bool)), True),
    ],
    ids=repr,
)
def test_symmetry_is_told(mask: Window | Alibi | Explicit, symmetric: bool) -> None:
    assert mask.bind(LINE, LINE).symmetric is symmetric


def test_unequal_positions_are_not_symmetric() -> None:
    assert not Visibility(LINE, LINE + 1, width=1.0).symmetric


def test_transposed_exchanges_queries_and_keys() -> None:
    matrix = torch.tensor([[True, False], [True, True]])
    two = LINE[:, :2]
    back = Visibility(two, two + 1, matrix=matrix).transposed()
    assert back.matrix is not None
    assert torch.equal(back.matrix, matrix.mT)
    assert torch.equal(back.query_positions, two + 1)
