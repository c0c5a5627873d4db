# pyright: basic, reportCallIssue=false
"""Registers hold as many numbers as the processor allows, and act on each of them."""

import numpy as np
import pytest
from numba import njit

from vlasov.engines.compiling import VECTORS
from vlasov.engines.intrinsics import aligned, past, start
from vlasov.engines.register_weights import first, power_of_two, total
from vlasov.engines.registers import (
    ONE,
    WIDE,
    collected,
    filled,
    fused,
    geometric,
    loaded,
    plus,
    product,
    stored,
)


@pytest.fixture
def rng():
    return np.random.default_rng(5)


THREE = (0, 0, 0)


@njit
def arithmetic(x, y, s, out):
    a, b = loaded(start(x, 0), THREE), loaded(start(y, 0), THREE)
    row = start(out, 0)
    stored(row, plus(a, b))
    stored(past(row, 3 * WIDE), product(a, filled(s, THREE)))
    stored(past(row, 6 * WIDE), fused(a, b, filled(s, THREE)))
    return total(a)


def test_numbers_are_added_and_multiplied_place_by_place(rng):
    x, y, out = rng.normal(size=3 * WIDE), rng.normal(size=3 * WIDE), np.zeros(9 * WIDE)
    sum_ = arithmetic(x, y, 2.5, out)
    found = out.reshape(3, -1)
    np.testing.assert_allclose(found, [x + y, 2.5 * x, x * y + 2.5], rtol=1e-14, atol=1e-15)
    assert sum_ == pytest.approx(x.sum(), abs=1e-13)


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


@pytest.mark.parametrize("scale", [1e-300, 0.4, 30.0, 1000.0])
def test_powers_of_two_are_exact_to_rounding(rng, scale):
    for _ in range(50):
        t, out = rng.uniform(-scale, scale, size=WIDE), np.zeros(WIDE)
        weights(t, out)
        np.testing.assert_allclose(out, np.exp2(t), rtol=8e-16)


def test_a_power_of_two_too_small_to_hold_is_nearly_zero():
    out = np.ones(WIDE)
    weights(np.full(WIDE, -1e300), out)
    assert ((out >= 0) & (out < 1e-300)).all()


@njit
def beginning(x, count, out):
    stored(start(out, 0), first(start(x, 0), count, -7.0))


@pytest.mark.parametrize("count", range(WIDE))
def test_the_first_few_numbers_are_followed_by_a_filling(rng, count):
    x, out = rng.normal(size=count), np.zeros(WIDE)
    beginning(x, count, out)
    np.testing.assert_array_equal(out, [*x, *[-7.0] * (WIDE - count)])


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
