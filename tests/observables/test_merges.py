"""The merge tree of recorded frames."""

import math

import pytest
import torch
from torch.testing import assert_close

from vlasov.errors import ShapeMismatch
from vlasov.observables import Merge, Split, merge_tree


def frames(*rows: list[float]) -> torch.Tensor:
    return torch.tensor(rows, dtype=torch.float64)[..., None]


def clock(count: int) -> torch.Tensor:
    return torch.arange(count, dtype=torch.float64)


def test_merges_carry_times_clusters_and_masses():
    x = frames([0.0, 1.0, 5.0, 5.1], [0.0, 0.2, 5.0, 5.0], [2.0, 2.0, 2.1, 2.1])
    tree = merge_tree(clock(3), x, radius=0.5)
    assert tree.leaves == (0, 1, 2)
    assert tree.counts == (3, 2, 1)
    assert [(m.after, m.time, m.clusters, m.into) for m in tree.merges] == [
        (0.0, 1.0, (0, 1), 3),
        (1.0, 2.0, (3, 2), 4),
    ]
    assert_close(tree.merges[0].masses, (0.25, 0.25))
    assert_close(tree.merges[1].masses, (0.5, 0.5))
    assert tree.splits == ()


def test_a_cluster_keeps_its_number_while_it_holds_the_same_tokens():
    x = frames([0.0, 9.0, 5.0], [1.0, 8.0, 4.0], [1.0, 1.1, 4.0])
    assert merge_tree(clock(3), x, radius=0.5).merges[0].clusters == (0, 1)


def test_splits_are_reported():
    tree = merge_tree(clock(2), frames([0.0, 0.1, 0.1, 7.0], [0.0, 3.0, 3.0, 7.0]), radius=0.5)
    assert tree.merges == ()
    (split,) = tree.splits
    assert (split.after, split.time, split.cluster, split.into) == (0.0, 1.0, 0, (2, 3))
    assert_close(split.masses, (0.25, 0.5))


def test_an_exchange_of_tokens_is_a_split_and_a_merge():
    tree = merge_tree(clock(2), frames([0.0, 0.1, 5.0], [0.0, 5.0, 5.1]), radius=0.5)
    assert [type(event) for event in (*tree.splits, *tree.merges)] == [Split, Merge]
    assert tree.merges[0].clusters == (0, 1)
    assert_close(tree.merges[0].masses, (1 / 3, 1 / 3))


def test_weights_are_masses_and_weight_zero_joins_nothing():
    log_w = torch.tensor([0.5, 0.0, 0.5], dtype=torch.float64).log()
    tree = merge_tree(clock(2), frames([0.0, 0.4, 0.8], [0.0, 0.2, 0.4]), log_w, radius=0.5)
    assert tree.counts == (2, 1)
    assert_close(tree.merges[0].masses, (0.5, 0.5))


def test_single_link_chaining_is_reported():
    spread = torch.linspace(0, 4, 11, dtype=torch.float64)
    x = torch.stack([10 * spread, spread, spread / 100])[..., None]
    tree = merge_tree(clock(3), x, radius=0.5)
    assert_close(tree.chaining, (0.0, 8.0, 0.08))
    assert tree.chained_from == 1.0


def test_tight_clusters_are_not_reported_as_chains():
    assert merge_tree(clock(1), frames([0.0, 0.1, 5.0]), radius=0.5).chained_from is None


def test_frames_after_the_last_finite_one_are_left_out():
    tree = merge_tree(clock(3), frames([0.0, 1.0], [0.0, 0.1], [math.nan, 0.0]), radius=0.5)
    assert tree.times == (0.0, 1.0)


def test_times_and_frames_must_agree():
    with pytest.raises(ShapeMismatch, match="2 times and 1 frames"):
        merge_tree(clock(2), frames([0.0, 1.0]), radius=0.5)
