"""Diagnostics of states against clouds whose numbers are known, and against their invariances."""

import math

import pytest
import torch

from vlasov.cloud import Cloud
from vlasov.errors import InvalidValue, ShapeMismatch
from vlasov.observables import EffectiveRank, MeanCosine
from vlasov.transformer.diagnostics import (
    diagnose,
    effective_rank,
    input_cosine,
    rank_one_distance,
    token_cosine,
    token_norm,
)

EPS = torch.finfo(torch.float64).eps
MEASURES = [token_norm, token_cosine, effective_rank, rank_one_distance]


def equiangular(n, rho):
    """Unit tokens whose pairs all have the cosine rho."""
    gram = torch.full((n, n), rho, dtype=torch.float64).fill_diagonal_(1.0)
    return torch.linalg.cholesky(gram)


@pytest.mark.parametrize("rho", [0.0, 0.3, 0.95])
def test_equiangular_tokens(rho):
    n = 7
    x = 5.0 * equiangular(n, rho)
    assert token_cosine(x).item() == pytest.approx(rho, abs=4 * n * EPS)
    assert token_norm(x).item() == pytest.approx(5.0 / math.sqrt(n), rel=4 * EPS)
    # n - 1 equal eigenvalues, and |x - mean|^2 = (1 - rho)(n - 1)/n for each
    assert effective_rank(x).item() == pytest.approx(n - 1, rel=1e-9)
    expected = math.sqrt((1 - rho) * (n - 1) / n)
    assert rank_one_distance(x).item() == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("measure", MEASURES, ids=lambda one: one.__name__)
def test_a_split_token_and_padding_change_nothing_but_pairs(measure, generator):
    x = torch.randn(6, 4, generator=generator, dtype=torch.float64)
    w = torch.rand(6, generator=generator, dtype=torch.float64)
    log_w = (w / w.sum()).log()
    padded = torch.cat([x, 1e3 * torch.ones(2, 4, dtype=torch.float64)])
    without = torch.cat([log_w, torch.full((2,), -torch.inf, dtype=torch.float64)])
    # of the padding only rounding against its size is left
    torch.testing.assert_close(measure(padded, without), measure(x, log_w), rtol=1e-10, atol=0)


@pytest.mark.parametrize("measure", MEASURES, ids=lambda one: one.__name__)
@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_measures_survive_squares_that_leave_the_range(measure, scale, generator):
    x = torch.randn(6, 4, generator=generator, dtype=torch.float64)
    factor = scale if measure is token_norm else 1.0
    torch.testing.assert_close(measure(scale * x) / factor, measure(x), rtol=1e-12, atol=0)


def test_mean_over_pairs_of_distinct_tokens(generator):
    x = torch.randn(9, 3, generator=generator, dtype=torch.float64)
    with_self = MeanCosine()(Cloud(x)).item()
    assert token_cosine(x).item() == pytest.approx((81 * with_self - 9) / (81 - 9), rel=1e-12)
    torch.testing.assert_close(effective_rank(x), EffectiveRank()(Cloud(x)))


def test_collapsed_tokens_have_the_rank_of_the_floor_and_not_of_rounding(generator):
    line = torch.randn(1, 16, generator=generator, dtype=torch.float64)
    noise = torch.randn(32, 16, generator=generator, dtype=torch.float64)
    assert effective_rank(line + 4 * EPS * noise) == 0.0
    assert effective_rank(line + 1e-9 * noise) > 10
    assert effective_rank(line + 1e-9 * noise, floor=1e-6) == 0.0
    assert rank_one_distance(line.expand(32, 16)) < 4 * EPS


def test_cosine_with_the_input():
    start = torch.tensor([[1.0, 0.0], [0.0, 2.0]], dtype=torch.float64)
    turned = torch.tensor([[0.0, 3.0], [0.0, 5.0]], dtype=torch.float64)
    assert input_cosine(turned, start).item() == 0.5
    assert input_cosine(torch.zeros_like(start), start).item() == 0.0


def test_from_the_first_overflow_on_nothing_is_known(generator):
    x = torch.randn(3, 5, 2, generator=generator, dtype=torch.float64)
    states = [x, 2 * x, x / 0, x]
    found = diagnose(states)
    assert found.overflow == 2
    assert found.norm[:2].isfinite().all()
    assert found.norm[2:].isnan().all()
    assert found.token_cosine[1].item() == pytest.approx(token_cosine(x).mean().item())
    assert found.input_cosine[:2].tolist() == pytest.approx([1.0, 1.0])
    assert diagnose(states[:2]).overflow is None
    with pytest.raises(InvalidValue, match="one state at least"):
        diagnose([])


X = torch.linspace(-1, 1, 48, dtype=torch.float64).reshape(2, 3, 8)


@pytest.mark.usefixtures("unchecked_types")
@pytest.mark.parametrize(
    ("states", "log_w", "error", "phrase"),
    [
        ([1.0], None, InvalidValue, "tensors of real numbers but one is float"),
        ([X.long()], None, InvalidValue, "but one is torch.int64. Pass"),
        ([X, X[..., :5]], None, ShapeMismatch, r"\[\(2, 3, 8\), \(2, 3, 5\)\]"),
        ([X[0, 0]], None, ShapeMismatch, r"one shape \(\*batch, n, d\)"),
        ([X], torch.zeros(2, 2), ShapeMismatch, r"log weights \(2, 2\). Pass those of one run"),
    ],
)
def test_states_of_different_runs_are_not_measured(states, log_w, error, phrase):
    with pytest.raises(error, match=phrase):
        diagnose(states, log_w)
