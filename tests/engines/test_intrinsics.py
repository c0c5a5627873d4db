# pyright: basic, reportCallIssue=false
"""Addresses lead to the numbers of an array, and the larger and the smaller one are those."""

import numpy as np
import pytest
from numba import njit
from numba.core.errors import TypingError

from vlasov.engines.intrinsics import larger, past, room, smaller, start


@njit
def entry(array, index, further):
    return past(start(array, index), further)[1]


@njit
def ends(x):
    kept, count = room(2, x[0]), x.shape[0]
    kept[0] = kept[1] = x[0]
    for i in range(count):
        kept[0], kept[1] = smaller(kept[0], x[i]), larger(kept[1], x[i])
    return kept[0], kept[1]


@pytest.mark.parametrize("shape", [(60,), (6, 10), (3, 4, 5)], ids=str)
@pytest.mark.parametrize("kind", [np.float64, np.int64])
def test_an_address_counts_from_an_entry_of_the_first_axis(
    shape: tuple[int, ...], kind: type
) -> None:
    array = np.arange(60, dtype=kind).reshape(shape)
    found = entry(array, 2, 3)
    assert found == array[2:].ravel()[4]
    assert isinstance(found, float) is (kind is np.float64)


def test_an_array_that_is_not_in_one_piece_has_no_address() -> None:
    with pytest.raises(TypingError, match="start"):
        entry(np.zeros((6, 10)).T, 2, 3)


def test_ends_of_a_row() -> None:
    x = np.array([0.5, -2.0, 7.0, 3.0])
    assert ends(x) == (-2.0, 7.0)
