"""The tasks of a training ablation: what is asked, and what knows nothing scores."""

import math
from collections import Counter

import pytest
import torch

from vlasov.errors import InvalidValue, UnknownName
from vlasov.experiments.cloud_tokens import SAMPLE
from vlasov.experiments.train_tasks import TASKS, Characters, task_of
from vlasov.lra.listops_values import value
from vlasov.lra.listops_words import DIGIT


@pytest.mark.parametrize("name", TASKS)
def test_batches_are_of_the_vocabulary_and_follow_from_the_seed(name, generator):
    task = task_of(name)
    inputs, targets = task.draw(40, 9, generator)
    assert inputs.shape == targets.shape == (40, 9)
    for ids in (inputs, targets):
        assert 0 <= int(ids.min()) <= int(ids.max()) < task.vocabulary
    again = task.draw(40, 9, torch.Generator().manual_seed(0))
    assert torch.equal(inputs, again[0])
    assert not torch.equal(inputs, task.draw(40, 9, generator)[0])


def test_targets_are_what_the_name_says(generator):
    inputs, targets = task_of("copy").draw(3, 5, generator)
    assert torch.equal(inputs, targets)
    inputs, targets = task_of("reverse:symbols=4").draw(3, 5, generator)
    assert inputs.tolist() == [row[::-1] for row in targets.tolist()]
    inputs, targets = Characters().draw(3, 5, generator)
    assert torch.equal(inputs[:, 1:], targets[:, :-1])


def test_every_place_of_a_list_asks_for_its_value(generator):
    inputs, targets = task_of("listops").draw(50, 24, generator)
    for row, target in zip(inputs.tolist(), targets.tolist(), strict=True):
        tokens = bytes(row).rstrip(b"\0")
        assert 0 not in tokens
        assert len(tokens) > 6
        assert {entry - DIGIT for entry in target} == {value(tokens)}
    with pytest.raises(InvalidValue, match="bounds of a list"):
        task_of("listops").draw(1, 1, generator)


def test_windows_reach_both_ends_of_the_text(generator):
    text = SAMPLE.read_text(encoding="utf-8")
    letters = sorted(set(text))
    n = len(text) - 2
    inputs, targets = Characters().draw(20, n, generator)
    found = {"".join(letters[i] for i in row) for row in inputs.tolist()}
    assert found == {text[:n], text[1 : n + 1]}
    assert {letters[row[-1]] for row in targets.tolist()} == {text[n], text[n + 1]}


def test_chance_is_the_best_answer_that_looks_at_nothing():
    assert task_of("reverse").chance == pytest.approx(math.log(8))
    assert task_of("copy:symbols=3").chance == pytest.approx(math.log(3))
    text = SAMPLE.read_text(encoding="utf-8")
    shares = [count / len(text) for count in Counter(text).values()]
    assert Characters().chance == pytest.approx(-sum(p * math.log(p) for p in shares))


def test_tasks_that_are_not_there_are_refused_by_name(generator):
    with pytest.raises(UnknownName, match="did you mean 'reverse'"):
        task_of("revers")
    with pytest.raises(InvalidValue, match="at least 2 symbols but got 1"):
        task_of("copy:symbols=1")
    with pytest.raises(InvalidValue, match="The sample text has"):
        Characters().draw(1, 100_000, generator)
