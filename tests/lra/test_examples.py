"""Ragged examples: padded batches, choices, digests, and what is refused."""

import numpy as np
import pytest
import torch

from vlasov.errors import InvalidValue, ShapeMismatch
from vlasov.lra import Examples, Splits, held_out, stacked, stacked_bytes

TOWERS = (1, 2)


def _ragged(count: int, towers: int, seed: int = 0) -> tuple[list[np.ndarray], Examples]:
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, 9, count * towers)
    sequences = [rng.integers(1, 257, length) for length in lengths]
    return sequences, stacked(sequences, rng.integers(0, 5, count), towers=towers)


@pytest.mark.parametrize("towers", TOWERS)
def test_a_batch_holds_each_sequence_and_marks_all_else(towers):
    sequences, examples = _ragged(20, towers)
    rows = [3, 19, 0, 3]
    batch = examples.batch(rows)
    flat = batch.inputs.reshape(len(rows) * towers, -1)
    padding = batch.padding.reshape(len(rows) * towers, -1)
    wanted = [sequences[row * towers + tower] for row in rows for tower in range(towers)]
    assert flat.shape[1] == max(map(len, wanted))
    for found, masked, sequence in zip(flat, padding, wanted, strict=True):
        assert found[~masked].tolist() == sequence.tolist()
        assert masked.tolist() == [False] * len(sequence) + [True] * (len(found) - len(sequence))
        assert not found[masked].any()
    assert batch.labels.tolist() == examples.labels[rows].tolist()
    assert batch.inputs.shape == ((4, 2, flat.shape[1]) if towers == 2 else flat.shape)


@pytest.mark.parametrize("towers", TOWERS)
def test_chosen_examples_are_the_same_sequences(towers):
    _, examples = _ragged(12, towers)
    rows = torch.tensor([11, 0, 5])
    chosen = examples.select(rows)
    for place, row in enumerate(rows.tolist()):
        for tower in range(towers):
            found = chosen.sequence(place, tower)
            assert found.tolist() == examples.sequence(row, tower).tolist()
    assert chosen.labels.tolist() == examples.labels[rows].tolist()
    assert chosen.lengths.tolist() == examples.lengths[rows].tolist()
    assert len(chosen) == 3


def test_a_batch_depends_on_its_rows_alone():
    _, examples = _ragged(8, 1)
    first, again = examples.batch([2, 5]), examples.batch([2, 5])
    assert first.inputs.equal(again.inputs)


def test_the_digest_sees_ids_labels_and_lengths_but_not_the_storage():
    given = stacked_bytes([b"abc", b"de"], [0, 1])
    again = Examples(given.tokens.to(torch.int32), given.offsets, given.labels)
    others = (
        stacked_bytes([b"abd", b"de"], [0, 1]),
        stacked_bytes([b"ab", b"cde"], [0, 1]),
        stacked_bytes([b"abc", b"de"], [1, 1]),
        stacked_bytes([b"abc", b"de"], [0], towers=2),
        given.select([1, 0]),
    )
    assert again.digest() == given.digest() == given.select([0, 1]).digest()
    assert given.digest() not in {other.digest() for other in others}


def test_zero_is_masked_where_the_rule_of_the_published_code_is_asked_for():
    given = stacked([np.array([0, 7, 0])], [0], zero_is_padding=True)
    assert given.batch([0]).padding.tolist() == [[True, False, True]]
    assert given.select([0]).zero_is_padding


@pytest.mark.parametrize(
    ("sequences", "labels", "towers", "error", "phrase"),
    [
        ([b"a", b"b"], [0], 1, ShapeMismatch, "need 2 offsets but got 3"),
        ([b"a", b"b", b"c"], [0, 1], 2, ShapeMismatch, "need 5 offsets but got 4"),
        ([b"a", b""], [0, 1], 1, InvalidValue, "with 1 empty sequences"),
    ],
)
def test_inconsistent_examples_are_refused(sequences, labels, towers, error, phrase):
    with pytest.raises(error, match=phrase):
        stacked_bytes(sequences, labels, towers=towers)


def test_the_id_of_padding_is_no_token():
    with pytest.raises(InvalidValue, match=r"the smallest is 0. Shift them"):
        stacked([np.array([3, 0])], [0])


def test_offsets_end_with_the_tokens():
    with pytest.raises(InvalidValue, match="rise from 0 to the 3 tokens"):
        Examples(torch.ones(3, dtype=torch.int16), torch.tensor([0, 2]), torch.tensor([1]))


@pytest.mark.parametrize(("share", "count"), [(0.1, 2), (0.001, 1), (0.999, 19)])
def test_a_part_held_out_and_the_rest_are_the_whole(share, count):
    examples = stacked_bytes([bytes([i]) for i in range(20)], list(range(20)))
    kept, out = held_out(examples, share, seed=3)
    assert len(out) == count
    assert sorted(kept.labels.tolist() + out.labels.tolist()) == list(range(20))
    assert held_out(examples, share, seed=3)[1].digest() == out.digest()
    assert (
        held_out(examples, 0.5, seed=4)[1].digest() != held_out(examples, 0.5, seed=3)[1].digest()
    )


def test_one_example_cannot_be_parted():
    with pytest.raises(InvalidValue, match="needs two examples but got 1"):
        held_out(stacked_bytes([b"a"], [0]), 0.5, seed=0)


def _splits() -> Splits:
    train, rest = (stacked_bytes([b"x"] * n, list(range(n))) for n in (40, 12))
    return Splits("t", train, rest, rest, 257, 40, (), {})


def test_a_limit_draws_from_each_part_in_order_and_by_seed():
    found = _splits().limited(20, seed=1)
    assert [len(part) for part in found.parts().values()] == [20, 5, 5]
    labels = found.train.labels.tolist()
    assert labels == sorted(labels)
    assert len(set(labels)) == 20
    assert _splits().limited(20, seed=1).train.labels.tolist() == labels
    assert _splits().limited(20, seed=2).train.labels.tolist() != labels
    assert _splits().limited(1, seed=1).test.labels.shape == (1,)
    assert len(_splits().limited(1000, seed=1).train) == 40


def test_a_limit_below_one_is_refused():
    with pytest.raises(InvalidValue, match="at least 1 but got 0"):
        _splits().limited(0, seed=0)
