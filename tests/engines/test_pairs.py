import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from random_sums import random_sum

from vlasov.engines import Dense
from vlasov.engines.pairs import Pairs


def longest(k: torch.Tensor) -> torch.Tensor:
    return k.norm(dim=-1).amax(-1)


@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=30, deadline=None)
def test_centring_never_lengthens_the_longest_key(seed: int) -> None:
    problem = random_sum(seed)
    pairs = Pairs(*problem.operands)
    moved, centre = pairs.centred()
    assert (longest(moved.k) <= longest(pairs.k)).all()
    assert torch.equal(moved.k, pairs.k - centre)


def test_the_centre_is_no_part_of_the_gradient() -> None:
    g = torch.Generator().manual_seed(0)
    k = (5 + torch.randn(1, 4, 2, generator=g, dtype=torch.float64)).requires_grad_()
    flat = torch.zeros(1, 4, dtype=torch.float64)
    _, centre = Pairs(k, k, k, flat).centred()
    assert not centre.requires_grad
    assert torch.autograd.gradcheck(lambda k: Dense().log_sum(k, k, flat), (k,))
