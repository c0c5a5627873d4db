"""The order of the tokens costs the certified engine nothing."""

import math
import time

import pytest
import torch

from vlasov.engines import Tree

pytestmark = pytest.mark.usefixtures("unchecked_types")


def seconds(x):
    """Of processors, the least of three."""

    def once():
        clock = time.process_time()
        Tree(1e-6).average(x, x, x, x.new_zeros(x.shape[:-1]))
        return time.process_time() - clock

    return min(once() for _ in range(3))


def test_a_circle_in_order_costs_as_much_as_shuffled(generator):
    angles = 2 * math.pi * torch.arange(20_000, dtype=torch.float64) / 20_000
    ordered = torch.stack([angles.cos(), angles.sin()], -1)
    shuffled = ordered[torch.randperm(len(ordered), generator=generator)]
    # a pivot that an ordered circle can mislead takes n^2: here 20 times as long
    assert seconds(ordered) < 4 * seconds(shuffled)
