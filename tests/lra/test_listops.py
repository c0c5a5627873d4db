"""ListOps: the generator against exact chances, and lists drawn without a folder."""

import os
import subprocess
import sys
from itertools import islice

import numpy as np
import pytest
import torch

from vlasov.errors import InvalidValue
from vlasov.lra import load_task, stacked_bytes
from vlasov.lra.listops import ListOps
from vlasov.lra.listops_grammar import Drawn, Grammar
from vlasov.lra.listops_values import value
from vlasov.lra.listops_words import CLOSE, DIGIT

BOUNDS = ((500, 2000), (125, 501), (16, 64), (3, 8))


def _lists(count: int, *bounds: int, seed: int = 0) -> list[Drawn]:
    return list(islice(Grammar(*bounds).lists(seed), count))


@pytest.mark.parametrize("bounds", BOUNDS, ids=str)
def test_lists_keep_their_bounds_differ_and_have_the_value_of_their_words(bounds):
    lists = _lists(60, *bounds)
    assert all(bounds[0] < len(drawn.tokens) < bounds[1] for drawn in lists)
    assert len({drawn.tokens for drawn in lists}) == len(lists)
    assert [value(drawn.tokens) for drawn in lists] == [drawn.value for drawn in lists]


@pytest.mark.parametrize("bounds", BOUNDS[:3], ids=str)
def test_arguments_are_counted_where_an_operator_opens(bounds):
    drawn = _lists(1, *bounds)[0]
    counts, open_lists = {}, []
    for place, token in enumerate(drawn.tokens):
        if token == CLOSE:
            open_lists.pop()
            continue
        if open_lists:
            counts[open_lists[-1]] += 1
        if token < CLOSE:
            open_lists.append(place)
            counts[place] = 0
    assert {place: n for place, n in enumerate(drawn.arguments) if n} == counts
    assert set(counts.values()) <= set(range(2, 11))


def _exact_lengths(most: int, depth: int = 10) -> np.ndarray:
    """The chance of each length under an operator at the root, by its generating function."""
    below = np.eye(1, most, 1)[0]  # a digit: one token
    operator = below
    for _ in range(depth - 1):
        powers, power = [], np.eye(1, most)[0]
        for _ in range(10):
            power = np.convolve(power, below)[:most]
            powers.append(power)
        operator = np.concatenate([[0.0, 0.0], np.mean(powers[1:], axis=0)])[:most]
        below = 0.25 * operator + 0.75 * np.eye(1, most, 1)[0]
    return operator


@pytest.mark.parametrize(("shortest", "longest"), [(40, 400), (12, 60)])
def test_lengths_come_with_their_exact_chances(shortest, longest):
    count, bins = 1500, 12
    chances = _exact_lengths(longest)[shortest + 1 :]
    chances /= chances.sum()
    group = np.minimum((chances.cumsum() * bins).astype(int), bins - 1)
    wanted = count * np.bincount(group, chances)
    lengths = [len(drawn.tokens) for drawn in _lists(count, shortest, longest)]
    found = np.bincount(group[np.array(lengths) - shortest - 1], minlength=len(wanted))
    surprise = ((found - wanted) ** 2 / wanted).sum()
    freedom = len(wanted) - 1
    assert surprise < freedom + 5 * (2 * freedom) ** 0.5


def _far(found: np.ndarray, chance: float, total: int) -> float:
    """The largest distance of counts from their mean, in standard deviations."""
    return float(np.abs(found - chance * total).max() / (total * chance * (1 - chance)) ** 0.5)


def test_operators_and_digits_are_uniform():
    tokens = np.frombuffer(b"".join(drawn.tokens for drawn in _lists(300)), np.uint8)
    operators, digits = tokens[tokens < CLOSE], tokens[tokens >= DIGIT]
    assert _far(np.bincount(operators)[1:], 1 / 4, len(operators)) < 5
    assert _far(np.bincount(digits)[DIGIT:], 1 / 10, len(digits)) < 5


def test_two_to_ten_arguments_of_which_a_quarter_nests():
    lists = list(islice(Grammar(3, 200, depth=3).lists(0), 3000))  # no draw is outside
    roots = np.array([drawn.arguments[0] for drawn in lists])
    nested = sum(np.count_nonzero(list(drawn.arguments[1:])) for drawn in lists)
    # of the shortest lists some were drawn twice and dropped
    assert _far(np.bincount(roots)[4:], 1 / 9, len(lists)) < 5
    assert set(roots) == set(range(2, 11))
    assert _far(np.array([nested]), 1 / 4, roots.sum()) < 5


@pytest.mark.parametrize("depth", [2, 3, 5])
def test_operators_nest_one_level_less_than_the_depth(depth):
    lists = list(islice(Grammar(3, 1000, depth=depth).lists(0), 100))
    steps = [np.array([(t < CLOSE) - (t == CLOSE) for t in drawn.tokens]) for drawn in lists]
    assert max(step.cumsum().max() for step in steps) == depth - 1


def test_a_shorter_draw_begins_a_longer_one():
    short, long = _lists(5, 16, 64, seed=7), _lists(50, 16, 64, seed=7)
    assert long[:5] == short
    assert _lists(5, 16, 64, seed=8) != short


@pytest.mark.slow
def test_lists_do_not_depend_on_the_hash_seed():
    program = (
        "from itertools import islice; from vlasov.lra.listops_grammar import Grammar; "
        "print([d.tokens.hex() for d in islice(Grammar(16, 64).lists(0), 50)])"
    )
    runs = {
        subprocess.run(
            [sys.executable, "-c", program],
            env=os.environ | {"PYTHONHASHSEED": seed}, capture_output=True, check=True,
        ).stdout
        for seed in ("1", "2")
    }  # fmt: skip
    assert len(runs) == 1


@pytest.mark.parametrize(
    ("settings", "phrase"),
    [
        ({"depth": 1}, "at least 2 but got 1 and 10"),
        ({"arguments": 1}, "at least 2 but got 10 and 1"),
        ({"shortest": 0}, "at least 1"),
        ({"shortest": 5, "longest": 6}, "got 5 and 6. Move them apart"),
    ],
)
def test_bounds_without_lists_are_refused(settings, phrase):
    with pytest.raises(InvalidValue, match=phrase):
        Grammar(**settings)


def test_a_supply_that_ends_is_said_to_end():
    grammar = Grammar(1, 5, depth=2)
    with pytest.raises(InvalidValue, match=r"no new one after 400. Widen the bounds"):
        list(islice(grammar.lists(0), 401))  # four operators over two digits


@pytest.mark.parametrize(
    ("length", "shortest", "longest"), [(None, 501, 1999), (500, 126, 500), (64, 17, 64)]
)
def test_without_a_folder_lists_are_generated(length, shortest, longest):
    found = load_task("listops", None, length=length, limit=40, seed=1)
    lengths = [part.lengths for part in found.parts().values()]
    assert [len(part) for part in found.parts().values()] == [40, 10, 10]
    assert min(part.min() for part in lengths) >= shortest
    assert max(part.max() for part in lengths) <= longest
    assert found.notes == (
        f"lists generated with seed 1, of more than {shortest - 1} and fewer than {longest + 1} "
        "tokens",
    )
    assert set(found.floors) == {"majority", "root operator", "one level"}
    assert (found.vocabulary, found.classes) == (16, 10)


def test_no_generated_list_is_in_two_parts():
    found = load_task("listops", None, length=64, limit=200)
    tokens = [
        bytes(part.sequence(row).tolist())
        for part in found.parts().values()
        for row in range(len(part))
    ]
    assert len(set(tokens)) == len(tokens) == 300


def test_labels_of_generated_lists_are_their_values():
    task = ListOps()
    found = task.generate(length=64, limit=20, seed=0)
    assert list(task.contradictions(found)) == []
    wrong = torch.where(torch.arange(20) == 4, (found.train.labels + 1) % 10, found.train.labels)
    train = stacked_bytes(
        [bytes(found.train.sequence(row).tolist()) for row in range(20)], wrong.tolist(), shift=0
    )
    sentences = list(task.contradictions(task.splits(train, found.validation, found.test)))
    assert len(sentences) == 1
    assert "1 of 20 train lists have another value" in sentences[0]
    assert "the first is number 5" in sentences[0]


def test_a_length_without_lists_is_refused():
    with pytest.raises(InvalidValue, match="leave a length between them"):
        load_task("listops", None, length=3, limit=4)


@pytest.mark.parametrize("count", [0, -1])
def test_making_no_list_is_refused(count, tmp_path):
    with pytest.raises(InvalidValue, match=f"at least 1 but got {count}"):
        ListOps().make(tmp_path, count=count, seed=0)
