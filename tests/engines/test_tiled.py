import pytest
import torch

from vlasov.engines import Dense, Tiled
from vlasov.errors import InvalidValue


def test_negative_rows_are_refused() -> None:
    with pytest.raises(InvalidValue, match="rows >= 0 but got -1"):
        Tiled(rows=-1)


def test_one_block_has_second_derivatives() -> None:
    g = torch.Generator().manual_seed(0)
    x = torch.randn(1, 4, 2, generator=g, dtype=torch.float64, requires_grad=True)
    flat = torch.zeros(1, 4, dtype=torch.float64)
    assert torch.autograd.gradgradcheck(lambda x: Tiled().average(x, x, x, flat), (x,))


def test_memory_estimates_name_tiled_where_dense_is_quadratic() -> None:
    size = {"queries": 10**5, "keys": 10**5, "width": 2, "itemsize": 8}
    assert Dense().memory(**size) > 10**11
    assert Tiled().memory(**size) < 10**8
