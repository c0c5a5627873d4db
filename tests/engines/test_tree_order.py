"""The order of the tokens costs the certified engine nothing."""

import math
import time

import pytest
import torch

from vlasov.engines import Tree
from vlasov.engines.engine_report import collecting
from vlasov.engines.pairs import Pairs
from vlasov.engines.tree_halves import causal_sums

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


def test_causal_sums_and_their_report_do_not_depend_on_threads():
    generator = torch.Generator().manual_seed(3)
    x = 2 * torch.randn(1_500, 2, dtype=torch.float64, generator=generator)
    pairs = Pairs(x, x, x, torch.zeros(1_500, dtype=torch.float64))
    threads, found = torch.get_num_threads(), []
    try:
        for count in (1, 3):
            torch.set_num_threads(count)
            with collecting() as reports:
                sums = causal_sums(1e-6, pairs, end=200)
            assert [r.sums for r in reports] == [1]
            assert reports[0].bound == float(sums.bounds.max())
            found.append(sums)
    finally:
        torch.set_num_threads(threads)
    assert all(torch.equal(a, b) for a, b in zip(*found, strict=True))
