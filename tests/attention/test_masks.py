import pytest
import torch

from vlasov.attention.masks import MASKS, Alibi, Causal, Explicit, Mask, Window
from vlasov.engines import Visibility
from vlasov.errors import InvalidValue, ShapeMismatch, UnknownName

POSITIONS = torch.tensor([[0.0, 1.0, 1.0, 3.0]], dtype=torch.float64)


def seen(mask: Mask) -> list[str]:
    """One word per query: x where it sees the key."""
    visible = mask.bind(POSITIONS, POSITIONS).visible()
    assert visible is not None
    return ["".join("x" if see else "." for see in row) for row in visible.view(4, 4).tolist()]


def test_causal_order_shows_ties_to_each_other() -> None:
    assert seen(Causal()) == ["x...", "xxx.", "xxx.", "xxxx"]


def test_a_window_goes_by_position_not_by_index() -> None:
    assert seen(Window(1.0)) == ["xxx.", "xxx.", "xxx.", "...x"]
    assert seen(Window(1.0, causal=True)) == ["x...", "xxx.", "xxx.", "...x"]


def test_alibi_hides_nothing_unless_causal() -> None:
    assert Alibi(0.5).bind(POSITIONS, POSITIONS).visible() is None
    assert seen(Alibi(0.5, causal=True)) == seen(Causal())


def test_alibi_lowers_scores_by_distance_with_a_slope_for_each_head() -> None:
    penalty = Alibi((0.5, 2.0)).bind(POSITIONS[:, None], POSITIONS[:, None]).penalty()
    assert penalty is not None
    assert penalty.shape == (1, 2, 4, 4)
    assert penalty[0, 0, 3].tolist() == [1.5, 1.0, 1.0, 0.0]
    assert penalty[0, 1, 3].tolist() == [6.0, 4.0, 4.0, 0.0]


def test_a02_true_means_that_the_row_sees_the_column() -> None:
    assert seen(Explicit(torch.ones(4, 4, dtype=torch.bool).tril())) == [
        "x...",
        "xx..",
        "xxx.",
        "xxxx",
    ]


@pytest.mark.parametrize("dtype", [torch.float64, torch.int64, torch.uint8], ids=str)
def test_a02_a_matrix_of_zeros_and_ones_is_refused(dtype: torch.dtype) -> None:
    with pytest.raises(InvalidValue, match=r"True where the row sees.*`matrix.bool\(\)`"):
        Explicit(torch.ones(3, 3, dtype=dtype))


def test_a02_nested_lists_are_booleans_too() -> None:
    assert torch.equal(Explicit([[True]]).bind(POSITIONS[:, :1], POSITIONS[:, :1]).visible(), TRUE)
    with pytest.raises(InvalidValue, match="boolean matrix"):
        Explicit(torch.tensor([[1, 0], [1, 1]]))


TRUE = torch.tensor([[True]])


def test_an_explicit_matrix_must_fit_the_tokens() -> None:
    with pytest.raises(ShapeMismatch, match="4 queries and 4 keys"):
        Explicit(torch.ones(3, 3, dtype=torch.bool)).bind(POSITIONS, POSITIONS)


def test_members_of_a_batch_may_have_their_own_matrix() -> None:
    matrix = torch.ones(5, 4, 4, dtype=torch.bool)
    positions = POSITIONS.expand(5, 4)[:, None]
    view = Explicit(matrix).bind(positions, positions)
    visible = view.visible()
    assert visible is not None
    assert visible.shape == (5, 1, 4, 4)


@pytest.mark.parametrize(
    ("spec", "mask"),
    [
        ("causal", Causal()),
        ("window:width=8", Window(8.0)),
        ("window:width=8,causal=true", Window(8.0, causal=True)),
        ("alibi:slope=0.5", Alibi(0.5)),
        ("alibi:slope=0.5,causal=true", Alibi(0.5, causal=True)),
    ],
)
def test_specs_are_read_and_written(spec: str, mask: Mask) -> None:
    assert MASKS.build(spec) == mask
    assert MASKS.build(MASKS.spec(mask)) == mask


def test_an_unknown_mask_is_named_with_the_nearest() -> None:
    with pytest.raises(UnknownName, match="did you mean 'causal'"):
        MASKS.build("casual")


def test_widths_and_slopes_outside_their_range_are_refused() -> None:
    with pytest.raises(InvalidValue, match="width >= 0 but got -1"):
        Window(-1.0)
    with pytest.raises(InvalidValue, match=r"slopes >= 0 but got -0\.5"):
        Alibi(-0.5)
    with pytest.raises(InvalidValue, match="write 'window:width=8'"):
        MASKS.build("window")
    with pytest.raises(InvalidValue, match=r"write 'alibi:slope=0\.5'"):
        MASKS.build("alibi")
    with pytest.raises(InvalidValue, match="finite slopes"):
        Alibi((0.5, float("inf")))
    with pytest.raises(InvalidValue, match="one per head"):
        Alibi(())


def test_some_rows_keep_their_positions_and_their_matrix() -> None:
    view = Explicit(torch.ones(4, 4, dtype=torch.bool).tril()).bind(POSITIONS, POSITIONS)
    part: Visibility = view.rows(slice(1, 3))
    visible = part.visible()
    assert visible is not None
    assert visible.tolist() == [[True, True, False, False], [True, True, True, False]]
    assert part.query_positions.tolist() == [[1.0, 1.0]]
