"""The compiled pass: its exponential, shifts, tiles, and what its answer must not depend on."""

import math
from typing import no_type_check

import numpy as np
import pytest
import torch
from numba import njit

from vlasov.attention.masks import Alibi, Causal, Window
from vlasov.engines import Auto, Dense, Direct
from vlasov.engines.power_of_two import power_of_two
from vlasov.errors import EngineUnsupported

SEVERAL_TILES = 1_100  # tokens: a tile holds about 500 keys in the plane


def _operands(n, *, size=1.0, width=2, seed=0, dtype=torch.float64, batch=(1,)):
    g = torch.Generator().manual_seed(seed)
    q, k, v = (torch.randn(*batch, n, width, generator=g, dtype=dtype) for _ in range(3))
    logits = torch.randn(*batch, n, generator=g, dtype=dtype)
    return size * q, k, v, logits


def _assert_agree(operands, mask=None, *, penalty=0.0):
    q, k, v, logits = operands
    unit = torch.finfo(q.dtype).eps / 2
    bound = float((q.double() @ k.double().mT).abs().max() + logits.abs().max()) + penalty
    tolerance = 10 * unit * (1 + bound)
    wanted = Dense().average(q, k, v, logits, mask=mask)
    found = Direct().average(q, k, v, logits, mask=mask)
    assert (found - wanted).abs().max() <= tolerance * v.abs().max()
    logs = Direct().log_sum(q, k, logits, mask=mask)
    assert (logs - Dense().log_sum(q, k, logits, mask=mask)).abs().max() <= tolerance


@njit
@no_type_check
def _powers(x):
    found = np.empty_like(x)
    for i in range(x.shape[0]):
        found[i] = power_of_two(x[i])
    return found


@pytest.mark.parametrize(
    ("dtype", "low", "units"), [(np.float64, -1000, 5), (np.float32, -120, 3)]
)
def test_powers_of_two_are_within_units_of_rounding(dtype, low, units):
    x = np.random.default_rng(0).uniform(low, -low, 100_000).astype(dtype)
    wanted = np.exp2(x.astype(np.longdouble))
    error = np.abs(_powers(x) / wanted - 1).max()
    assert error <= units * np.finfo(dtype).eps / 2


@pytest.mark.parametrize("width", [1, 2, 3, 5])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=str)
def test_several_tiles_and_blocks_agree_with_dense(width, dtype):
    _assert_agree(_operands(SEVERAL_TILES, width=width, dtype=dtype))


@pytest.mark.parametrize("size", [1e-12, 1e2, 1e4])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=str)
def test_exponents_of_any_size_agree_with_dense(size, dtype):
    _assert_agree(_operands(SEVERAL_TILES, size=size, dtype=dtype))


@pytest.mark.parametrize("slope", [0.1, 10.0])
def test_later_keys_of_large_logits_do_not_starve_earlier_rows(slope):
    operands = _operands(SEVERAL_TILES)
    positions = torch.arange(float(SEVERAL_TILES), dtype=torch.float64)[None]
    alibi = Alibi(slope, causal=True).bind(positions, positions)
    _assert_agree(operands, alibi, penalty=slope * SEVERAL_TILES)
    q, k, v, _ = operands
    _assert_agree((q, k, v, 2000 * positions), Causal().bind(positions, positions))


def test_absent_keys_leave_the_answer_alone_however_far_they_lie():
    q, k, v, logits = _operands(SEVERAL_TILES, size=30.0)
    absent = torch.arange(SEVERAL_TILES) % 3 == 0
    far = torch.where(absent.unsqueeze(-1), 1e3 * k, k)
    huge = torch.where(absent.unsqueeze(-1), 1e200, v)
    hidden = torch.where(absent, -torch.inf, logits)
    found = Direct().average(q, far, huge, hidden)
    wanted = Dense().average(q, k[:, ~absent], v[:, ~absent], logits[:, ~absent])
    assert (found - wanted).abs().max() <= 1e-11


def test_the_answer_depends_neither_on_threads_nor_on_neighbours():
    operands = _operands(300, batch=(5,), size=30.0)
    threads = torch.get_num_threads()
    try:
        torch.set_num_threads(1)
        alone = Direct().average(*operands)
        torch.set_num_threads(3)
        together = Direct().average(*operands)
    finally:
        torch.set_num_threads(threads)
    assert torch.equal(alone, together)
    for i in range(5):
        assert torch.equal(Direct().average(*(x[i : i + 1] for x in operands))[0], alone[i])


def test_a_member_with_large_scores_leaves_the_others_alone():
    operands = _operands(100, batch=(2,))
    larger = (operands[0] * torch.tensor([1.0, 1e4], dtype=torch.float64)[:, None, None],)
    found = Direct().average(*larger, *operands[1:])
    assert torch.equal(found[0], Direct().average(*operands)[0])


def test_auto_takes_the_compiled_pass_for_many_pairs_only(monkeypatch):
    seen = []
    original = Direct._average
    monkeypatch.setattr(Direct, "_average", lambda self, p: seen.append(p) or original(self, p))
    Auto().average(*_operands(SEVERAL_TILES))
    assert len(seen) == 1
    Auto().average(*_operands(100))
    Auto().average(*_operands(SEVERAL_TILES, width=9))
    q, k, v, logits = _operands(SEVERAL_TILES)
    Auto().average(q.requires_grad_(), k, v, logits)
    assert len(seen) == 1


def test_what_it_cannot_sum_is_refused_by_name():
    q, k, v, logits = _operands(4)
    positions = torch.arange(4.0, dtype=torch.float64)[None]
    with pytest.raises(EngineUnsupported, match="window"):
        Direct().average(q, k, v, logits, mask=Window(2.0).bind(positions, positions))
    with pytest.raises(EngineUnsupported, match="width of 9"):
        Direct().average(*_operands(4, width=9))
    with pytest.raises(EngineUnsupported, match="leaders"):
        Direct().leader_average(q, k, v, logits, tie=0.0)


def test_memory_grows_with_the_tokens():
    small, large = (
        Direct().memory(queries=n, keys=n, width=2, itemsize=8) for n in (10**6, 10**7)
    )
    assert large < 11 * small
    assert math.isfinite(small)


def test_exponents_beyond_the_precision_of_numbers_stay_within_the_hull():
    for seed in range(20):
        q, k, v, logits = _operands(40, seed=seed, width=2, dtype=torch.float32, size=1e4)
        found = Direct().average(q, 1e6 * k, v, logits)
        assert (found.amin(1) >= v.amin(1) - 1e-4).all()
        assert (found.amax(1) <= v.amax(1) + 1e-4).all()
    q, k, v, logits = _operands(500, size=1e20)
    assert Direct().average(q, 1e20 * k, v, logits).isfinite().all()


def test_absent_keys_of_any_exponent_do_not_count():
    k = torch.tensor([[[1e16], [1.0]]], dtype=torch.float64)
    v = torch.tensor([[[5.0], [7.0]]], dtype=torch.float64)
    hidden = torch.tensor([[-torch.inf, 0.0]], dtype=torch.float64)
    assert Direct().average(1e15 * torch.ones_like(k), k, v, hidden).eq(7.0).all()
    single = Direct().average(
        1e12 * torch.ones_like(k).float(), 1e4 * k.float(), v.float(), hidden.float()
    )
    assert single.eq(7.0).all()


@pytest.mark.parametrize("engine", [Direct(), Auto()])
def test_views_that_negate_are_summed(engine):
    x = torch.randn(
        1, 2_000, 2, dtype=torch.complex128, generator=torch.Generator().manual_seed(0)
    )
    x = x.conj().imag
    found = engine.average(x, x, x, x[..., 0])
    plain = x.resolve_neg()
    assert x.is_neg()
    assert torch.equal(found, engine.average(plain, plain, plain, plain[..., 0]))
