import math

import numpy as np
import pytest
import torch
from random_sums import GENERAL
from torch import Tensor

from vlasov.attention import Sinkhorn
from vlasov.attention.masks import Alibi, Causal, Explicit, Mask, Window
from vlasov.engines import ENGINES, Dense
from vlasov.engines.pairs import Pairs
from vlasov.errors import InvalidValue, NotConverged, ShapeMismatch, Unsupported

LINE = torch.tensor([[[1.0], [2.0], [3.0]]], dtype=torch.float64)
LOG_W = torch.zeros(1, 3, dtype=torch.float64).log_softmax(-1)
POSITIONS = LINE[..., 0]
LEFT = torch.tensor([[True, False, True]] * 3)


def flat(n: int) -> Tensor:
    return torch.zeros(1, n, dtype=torch.float64).log_softmax(-1)


@pytest.mark.parametrize("engine", GENERAL)
def test_a08_sinkhorn_is_bistochastic_as_a_measure(engine: str) -> None:
    wanted = torch.tensor([1.467352, 2.0, 2.532648], dtype=torch.float64)
    found = Sinkhorn().average(LINE, LINE, LINE, LOG_W, ENGINES.build(engine))
    torch.testing.assert_close(found[0, :, 0], wanted, rtol=0, atol=6e-7)
    x = LINE.repeat(1, 2, 1)
    doubled = Sinkhorn().average(x, x, x, flat(6), ENGINES.build(engine))
    torch.testing.assert_close(doubled[:, :3], found, rtol=0, atol=1e-9)


def test_a09_the_cap_is_an_error_with_the_residual_and_the_remedies() -> None:
    with pytest.raises(NotConverged, match=r"after 3 sweeps they were off by .*raise eps"):
        Sinkhorn(max_sweeps=3).average(LINE, LINE, LINE, LOG_W, Dense())


def test_a09_columns_are_within_the_tolerance_and_rows_exact() -> None:
    identity = torch.eye(3, dtype=torch.float64)[None]
    for tolerance in (1e-2, 1e-6, 1e-12):
        plan = Sinkhorn(tolerance=tolerance).average(LINE, LINE, identity, LOG_W, Dense())[0]
        assert (plan.sum(-1) - 1).abs().max() < 1e-15 * 3
        assert 0 < (plan.sum(0) - 1).abs().max() <= tolerance


def test_a09_the_slope_on_a_standard_gaussian_is_the_golden_ratio() -> None:
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    x = torch.from_numpy(nodes)[None, :, None]
    log_w = torch.from_numpy(weights / weights.sum()).log()[None]
    velocity = Sinkhorn().average(x, x, x, log_w, ENGINES.build("auto"))
    central = x.abs() < 3
    # The quadrature is exact to round-off for tokens that are not in its tails.
    torch.testing.assert_close(
        velocity[central] / x[central],
        torch.full_like(x[central], 2 / (1 + math.sqrt(5))),
        rtol=0,
        atol=1e-8,
    )


@pytest.mark.slow
def test_a10_small_regularisation_gives_the_cost_or_an_error() -> None:
    x = torch.tensor([[[0.0], [1.0], [2.0]]], dtype=torch.float64)
    y = torch.tensor([[[0.5], [1.5], [3.0]]], dtype=torch.float64)
    identity = torch.eye(3, dtype=torch.float64)[None]
    squares = (x[0] - y[0].mT).square()
    for eps in (1.0, 1e-1, 1e-2, 1e-3, 1e-4):
        # Sinkhorn ignores functions of one side: 2 x y stands for -|x - y|^2.
        variant = Sinkhorn(eps=eps, max_sweeps=200)
        try:
            plan = eps * variant.average(2 * x, y, identity, LOG_W, Dense())[0] / 3
        except NotConverged:
            assert eps == 1e-1
            continue
        assert plan.sum(0).tolist() == pytest.approx([1 / 3] * 3, abs=1e-9)
        assert eps > 1e-2 or (plan * squares).sum().item() == pytest.approx(0.5, abs=1e-3)


def test_a10_what_does_not_converge_is_never_silent() -> None:
    g = torch.Generator().manual_seed(0)
    q, k = (100 * torch.randn(1, 12, 2, generator=g, dtype=torch.float64) for _ in range(2))
    with pytest.raises(NotConverged, match="off by"):
        Sinkhorn(eps=1e-3, max_sweeps=20).average(q, k, k, flat(12), Dense())


@pytest.mark.parametrize("engine", GENERAL)
@pytest.mark.parametrize("eps", [1.0, 0.3])
def test_golden_12_the_mean_of_the_velocities_is_the_mean_over_eps(
    engine: str, eps: float
) -> None:
    g = torch.Generator().manual_seed(1)
    x = 0.5 + 0.4 * torch.randn(1, 20, 2, generator=g, dtype=torch.float64)
    log_w = torch.randn(1, 20, generator=g, dtype=torch.float64).log_softmax(-1)
    value = torch.randn(2, 2, generator=g, dtype=torch.float64)
    velocity = Sinkhorn(eps=eps).average(x, x, x @ value.mT, log_w, ENGINES.build(engine))
    w = log_w.exp()[..., None]
    # Columns are within 1e-10; the values stay below 10.
    torch.testing.assert_close(
        (w * velocity).sum(-2), (w * x).sum(-2) @ value.mT / eps, rtol=0, atol=1e-8
    )


def test_the_potentials_make_the_plan() -> None:
    f, g = Sinkhorn(eps=0.7).potentials(LINE, LINE, LOG_W, Dense(), beta=0.5)
    plan = torch.exp(0.5 * (LINE[0] @ LINE[0].mT) / 0.7 + f[0, :, None] + g[0, None]) / 3
    torch.testing.assert_close(plan.sum(-1), torch.ones(3, dtype=torch.float64))
    torch.testing.assert_close(plan.sum(0), torch.ones(3, dtype=torch.float64))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_the_default_tolerance_is_reached_in_every_number_format(dtype: torch.dtype) -> None:
    x, log_w = LINE.to(dtype), LOG_W.to(dtype)
    found = Sinkhorn().average(x, x, x, log_w, Dense())
    wanted = torch.tensor([1.467352, 2.0, 2.532648], dtype=dtype)
    torch.testing.assert_close(found[0, :, 0], wanted, rtol=0, atol=1e-4)


def test_a_member_that_has_converged_does_not_depend_on_its_neighbours() -> None:
    q = torch.cat([0.1 * LINE, LINE])[:, None]
    k, log_w = q.square(), LOG_W.expand(2, 1, 3)
    together = Sinkhorn().average(q, k, q, log_w, Dense())
    alone = Sinkhorn().average(q[:1], k[:1], q[:1], LOG_W, Dense())
    torch.testing.assert_close(together[0], alone[0], rtol=1e-14, atol=0)


class Counted(Dense):
    """Counts the sums of an iteration."""

    sums = 0

    def _log_sum(self, pairs: Pairs) -> Tensor:
        type(self).sums += 1
        return super()._log_sum(pairs)


@pytest.mark.parametrize("scale", [1.0, 10.0, 1e4])
def test_symmetric_positive_scores_converge_however_strong(scale: float) -> None:
    g = torch.Generator().manual_seed(3)
    x = scale * torch.randn(1, 30, 2, generator=g, dtype=torch.float64)
    Counted.sums = 0
    velocity = Sinkhorn().average(x, x, x, flat(30), Counted())
    # The error of the logarithms, at first at most the largest score, halves at each sweep.
    assert Counted.sums < 36 + 2 * math.log2(10 * scale)
    torch.testing.assert_close(velocity.mean(-2), x.mean(-2), rtol=1e-6, atol=1e-8)


def test_heads_with_and_without_symmetric_scores_share_an_evaluation() -> None:
    g = torch.Generator().manual_seed(4)
    x = 0.7 * torch.randn(1, 1, 8, 2, generator=g, dtype=torch.float64)
    turned = torch.stack([x[..., 1], -x[..., 0]], dim=-1)
    q, k, log_w = torch.cat([x, turned], 1), torch.cat([x, x], 1), flat(8)[None]
    plan = Sinkhorn().average(q, k, torch.eye(8, dtype=torch.float64), log_w, Dense())
    ones = torch.ones(1, 2, 8, dtype=torch.float64)
    torch.testing.assert_close(plan.sum(-1), ones)
    torch.testing.assert_close(plan.sum(-2), ones, rtol=0, atol=1e-9)
    for h in range(2):
        alone = Sinkhorn().average(q[:, h], k[:, h], x[:, 0], log_w[:, 0], Dense())
        torch.testing.assert_close(plan[:, h] @ x[:, 0], alone, rtol=0, atol=1e-9)


def test_tokens_of_weight_zero_do_not_stop_the_iteration() -> None:
    log_w = torch.tensor([[0.5, 0.5, 0.0]], dtype=torch.float64).log()
    found = Sinkhorn().average(LINE, LINE, LINE, log_w, Dense())
    wanted = Sinkhorn().average(LINE[:, :2], LINE[:, :2], LINE[:, :2], flat(2), Dense())
    assert found.isfinite().all()
    torch.testing.assert_close(found[:, :2], wanted, rtol=0, atol=1e-9)


@pytest.mark.parametrize(
    "mask",
    [Causal(), Window(1.0, causal=True), Alibi(0.5, causal=True), Explicit(LEFT)],
    ids=repr,
)
def test_a_one_sided_mask_is_refused_with_the_reason(mask: Mask) -> None:
    with pytest.raises(Unsupported, match="only bistochastic triangular kernel is the identity"):
        Sinkhorn().average(LINE, LINE, LINE, LOG_W, Dense(), mask=mask.bind(POSITIONS, POSITIONS))


@pytest.mark.parametrize("mask", [Window(1.0), Alibi(0.5)], ids=repr)
def test_a_symmetric_mask_keeps_rows_and_columns(mask: Mask) -> None:
    identity = torch.eye(3, dtype=torch.float64)[None]
    view = mask.bind(POSITIONS, POSITIONS)
    plan = Sinkhorn().average(LINE, LINE, identity, LOG_W, Dense(), mask=view)[0]
    torch.testing.assert_close(plan.sum(-1), torch.ones(3, dtype=torch.float64))
    torch.testing.assert_close(plan.sum(0), torch.ones(3, dtype=torch.float64), atol=1e-9, rtol=0)


def test_queries_and_keys_must_be_as_many() -> None:
    with pytest.raises(ShapeMismatch, match="as many queries as keys but got 2 and 3"):
        Sinkhorn().average(LINE[:, :2], LINE, LINE, LOG_W, Dense())


@pytest.mark.parametrize("setting", ["eps", "tolerance"])
def test_settings_must_be_positive(setting: str) -> None:
    with pytest.raises(InvalidValue, match="> 0 but got"):
        Sinkhorn(**{setting: 0.0})
