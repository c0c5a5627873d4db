import pytest
import torch

from vlasov.attention import (
    L2,
    HeadMixture,
    Linear,
    Sigmoid,
    Sinkhorn,
    Softmax,
    attention_spec,
    build_attention,
)
from vlasov.attention.masks import Alibi
from vlasov.engines import Auto, Dense
from vlasov.errors import InvalidValue, ShapeMismatch, UnknownName

SPEC = "softmax+l2+sigmoid:bias=-1"


def heads(count: int) -> torch.Tensor:
    g = torch.Generator().manual_seed(0)
    return torch.randn(2, count, 5, 2, generator=g, dtype=torch.float64)


def test_each_head_has_its_own_variant() -> None:
    x, log_w = heads(3), torch.zeros(2, 1, 5, dtype=torch.float64).log_softmax(-1)
    mixed = build_attention(SPEC).average(x, x, x, log_w, Auto(), beta=0.5)
    for h, variant in enumerate([Softmax(), L2(), Sigmoid(bias=-1.0)]):
        head = x[:, h : h + 1]
        alone = variant.average(head, head, head, log_w, Dense(), beta=0.5)
        torch.testing.assert_close(mixed[:, h : h + 1], alone)


def test_each_head_has_its_own_slope() -> None:
    x, log_w = heads(2), torch.zeros(2, 1, 5, dtype=torch.float64).log_softmax(-1)
    positions = torch.arange(5.0, dtype=torch.float64).expand(2, 1, 5)
    mixture = HeadMixture((Softmax(), L2()))
    both = Alibi((0.1, 0.9)).bind(positions, positions)
    mixed = mixture.average(x, x, x, log_w, Dense(), mask=both)
    second = Alibi(0.9).bind(positions, positions)
    head = x[:, 1:]
    alone = L2().average(head, head, head, log_w, Dense(), mask=second)
    torch.testing.assert_close(mixed[:, 1:], alone)


def test_the_number_of_heads_must_fit() -> None:
    x, log_w = heads(2), torch.zeros(2, 1, 5, dtype=torch.float64)
    with pytest.raises(ShapeMismatch, match="3 members but the projections have 2 heads"):
        build_attention(SPEC).average(x, x, x, log_w, Dense())


def test_a_mixture_of_nothing_is_refused() -> None:
    with pytest.raises(InvalidValue, match="one attention per head but got none"):
        HeadMixture(())
    with pytest.raises(InvalidValue, match="got none"):
        build_attention([])


def test_specs_are_read_and_written() -> None:
    mixture = build_attention(SPEC)
    assert mixture == HeadMixture((Softmax(), L2(), Sigmoid(bias=-1.0)))
    assert build_attention(attention_spec(mixture)) == mixture
    assert build_attention(["softmax", L2(), "sigmoid:bias=-1"]) == mixture
    assert build_attention(mixture) is mixture
    assert build_attention(["softmax"]) == Softmax()


def test_a_plus_inside_a_number_is_no_head() -> None:
    assert build_attention("sinkhorn:eps=1e+2") == Sinkhorn(eps=100.0)
    assert build_attention("sinkhorn:eps=1e+2 + l2") == HeadMixture((Sinkhorn(eps=100.0), L2()))


def test_an_unknown_member_is_named_with_the_nearest() -> None:
    with pytest.raises(UnknownName, match="did you mean 'softmax'"):
        build_attention("sotfmax+l2")


def test_what_holds_for_every_member_holds_for_the_mixture() -> None:
    assert HeadMixture((Softmax(), L2())).row_stochastic
    assert HeadMixture((Softmax(), L2())).row_sum == 1.0
    assert not HeadMixture((Softmax(), Sigmoid())).row_stochastic
    assert HeadMixture((Softmax(), Sinkhorn(eps=0.5))).row_sum is None
    assert HeadMixture((Softmax(), Sigmoid())).bounded
    assert not HeadMixture((Softmax(), Linear())).bounded
