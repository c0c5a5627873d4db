# pyright: basic, reportCallIssue=false, reportGeneralTypeIssues=false
"""Registers hold as many numbers as the processor allows, and act on each of them."""

import numpy as np
import pytest
from numba import njit

from vlasov.engines.compiling import VECTORS
from vlasov.engines.intrinsics import aligned, past, start
from vlasov.engines.power_of_two import power_of_two, sigmoid
from vlasov.engines.register_ends import first, highest, kept, total, totals
from vlasov.engines.registers import (
    ONE,
    WIDE,
    collected,
    filled,
    fused,
    geometric,
    higher,
    loaded,
    plus,
    product,
    spread,
    stored,
    width,
)


@pytest.fixture
def rng():
    return np.random.default_rng(5)


THREE = (0, 0, 0)
FORMATS = pytest.mark.parametrize("dtype", [np.float64, np.float32])


def _normal(rng, registers, dtype):
    """As many numbers as some registers hold."""
    return rng.normal(size=registers * WIDE * 8 // np.dtype(dtype).itemsize).astype(dtype)


def _close(found, wanted, dtype):
    unit = np.finfo(dtype).eps
    np.testing.assert_allclose(found, wanted, rtol=40 * unit, atol=20 * unit)


@njit
def arithmetic(x, y, s, out):
    a, b = loaded(start(x, 0), THREE), loaded(start(y, 0), THREE)
    row, size = start(out, 0), 3 * width(start(x, 0))
    stored(row, plus(a, b))
    stored(past(row, size), product(a, filled(s, THREE)))
    stored(past(row, 2 * size), fused(a, b, filled(s, THREE)))
    stored(past(row, 3 * size), higher(a, b))
    return total(a), totals(a)


@FORMATS
def test_numbers_are_combined_place_by_place(rng, dtype):
    x, y, out = (_normal(rng, count, dtype) for count in (3, 3, 12))
    sum_, sums = arithmetic(x, y, dtype(2.5), out)
    found = out.reshape(4, -1)
    _close(found, [x + y, dtype(2.5) * x, x * y + dtype(2.5), np.maximum(x, y)], dtype)
    _close(sum_, x.sum(), dtype)
    _close(sums, x.reshape(3, -1).sum(-1), dtype)


@njit
def spreading(x, out):
    stored(start(out, 0), spread(start(x, 0), THREE))
    return highest(loaded(start(x, 0), ONE))


@FORMATS
def test_numbers_are_spread_over_a_register_each(rng, dtype):
    x, out = _normal(rng, 1, dtype), _normal(rng, 3, dtype)
    assert spreading(x, out) == x.max()
    np.testing.assert_array_equal(out.reshape(3, -1), np.repeat(x[:3, None], len(x), axis=1))


@njit
def collection(x, i, j, s, t, out):
    row = start(x, 0)
    stored(start(out, 0), collected((past(row, i), past(row, j)), (s, t)))


def test_registers_are_collected_from_anywhere_each_times_its_number(rng):
    x, out = rng.normal(size=5 * WIDE), np.zeros(2 * WIDE)
    collection(x, 3, WIDE + 1, 2.0, -3.0, out)
    wanted = np.concatenate([2 * x[3 : 3 + WIDE], -3 * x[WIDE + 1 : 2 * WIDE + 1]])
    np.testing.assert_array_equal(out, wanted)


@njit
def powers(y, out):
    row, step = geometric(y)
    stored(start(out, 0), row)
    stored(past(start(out, 0), WIDE), step)


@pytest.mark.parametrize("y", [0.0, 1.0, -1.7, 3.0])
def test_powers_of_a_number_begin_with_one(y):
    out = np.zeros(2 * WIDE)
    powers(y, out)
    np.testing.assert_allclose(out[:WIDE], y ** np.arange(WIDE), rtol=1e-14)
    np.testing.assert_allclose(out[WIDE:], y**WIDE, rtol=1e-14)


@njit(fastmath=VECTORS["fastmath"])
def weights(t, out):
    stored(start(out, 0), power_of_two(loaded(start(t, 0), ONE)))


@njit(fastmath=VECTORS["fastmath"])
def bounded(t, out):
    stored(start(out, 0), sigmoid(loaded(start(t, 0), ONE)))


@pytest.mark.parametrize("scale", [1e-300, 1e-30, 0.4, 30.0, 120.0, 1000.0])
@FORMATS
def test_powers_of_two_are_exact_to_rounding(rng, scale, dtype):
    scale = min(scale, 120.0) if dtype is np.float32 else scale
    for _ in range(50):
        out = _normal(rng, 1, dtype)
        t = (scale * rng.uniform(-1, 1, size=out.shape)).astype(dtype)
        weights(t, out)
        np.testing.assert_allclose(out, np.exp2(t.astype(float)), rtol=3.6 * np.finfo(dtype).eps)


@pytest.mark.parametrize("size", [1e-3, 1.0, 100.0, 1e4])
@FORMATS
def test_logistic_functions_are_exact_to_rounding(rng, size, dtype):
    t = size * _normal(rng, 1, dtype)
    out = np.ones_like(t)
    bounded(t, out)
    with np.errstate(over="ignore"):
        wanted = 1 / (1 + np.exp2(-t.astype(float)))
    tiny = np.finfo(dtype).tiny
    np.testing.assert_allclose(out, wanted, rtol=4 * np.finfo(dtype).eps, atol=8 * tiny)


@FORMATS
def test_a_power_of_two_too_small_to_hold_is_nearly_zero(dtype):
    t = np.full(64 // np.dtype(dtype).itemsize, -1e30, dtype)
    out = np.ones_like(t)
    weights(t, out)
    found = out[: len(t) * WIDE // 8]
    assert ((found >= 0) & (found <= 4 * np.finfo(dtype).tiny)).all()


@njit
def beginning(x, y, count, rest, out):
    row, size = start(out, 0), width(start(x, 0))
    stored(row, first(start(x, 0), count, rest))
    stored(past(row, size), kept(loaded(start(y, 0), ONE), count, rest))


@FORMATS
def test_the_first_few_numbers_are_followed_by_a_filling(rng, dtype):
    whole, out = _normal(rng, 1, dtype), _normal(rng, 2, dtype)
    for count in range(len(whole)):
        beginning(whole[:count].copy(), whole, count, dtype(-7), out)
        wanted = [*whole[:count], *[-7.0] * (len(whole) - count)]
        np.testing.assert_array_equal(out.reshape(2, -1), [wanted, wanted])


@njit
def distance(x, index):
    here = start(x, index)
    there = aligned(here)
    there[0] = 1.0


@pytest.mark.parametrize("index", range(9))
def test_an_aligned_address_is_the_next_multiple_of_64_bytes(index):
    x = np.zeros(32)
    distance(x, index)
    place = int(np.flatnonzero(x)[0])
    assert 0 <= place - index < 8
    assert (x.ctypes.data + 8 * place) % 64 == 0
