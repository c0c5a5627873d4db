"""The order of examples, their shares, and sums that do not depend on how a batch is cut."""

import numpy as np
import pytest
import torch
from torch import nn
from torch.testing import assert_close

from vlasov.lra.batches import Shares, epoch_batches, number, whole_batches
from vlasov.lra.evaluation import Score, evaluate
from vlasov.lra.examples import stacked
from vlasov.lra.gradients import clipped, set_gradients
from vlasov.lra.processes import Processes

ALONE = Processes.alone("cpu")


def examples(lengths, *, classes=2):
    sequences = [np.full(length, i % 7 + 1, dtype=np.int16) for i, length in enumerate(lengths)]
    return stacked(sequences, [i % classes for i in range(len(sequences))])


@pytest.fixture
def uneven():
    lengths = torch.randint(1, 60, (203,), generator=torch.Generator().manual_seed(1))
    return examples(lengths.tolist())


def order(given, *, seed=0, epoch=0):
    return torch.cat(epoch_batches(given, 8, seed=seed, epoch=epoch)).tolist()


def test_every_epoch_holds_each_example_once(uneven):
    assert sorted(order(uneven)) == list(range(203))
    assert sorted(order(uneven, epoch=1)) == list(range(203))


def test_the_order_is_a_function_of_seed_and_epoch(uneven):
    orders = [order(uneven, seed=seed, epoch=epoch) for seed in (0, 1) for epoch in (0, 1)]
    assert orders[0] == order(uneven)
    assert len({tuple(one) for one in orders}) == 4


def test_the_draws_of_all_epochs_differ_and_come_again():
    # G09: a generator kept in the data set would repeat
    drawn = [number("dropout", 0, step, rank) for step in range(8) for rank in range(2)]
    assert len(set(drawn)) == 16
    assert drawn[0] == number("dropout", 0, 0, 0)


def test_batches_of_like_lengths_waste_little(uneven):
    lengths = uneven.lengths[:, 0]
    waste = [
        (lengths[rows].max() * len(rows) - lengths[rows].sum()).item()
        for rows in epoch_batches(uneven, 8, seed=0, epoch=0)
    ]
    unsorted = [(lengths[rows].max() * len(rows) - lengths[rows].sum()).item()
                for rows in torch.arange(203).split(8)]  # fmt: skip
    assert sum(waste) < sum(unsorted) / 4


def test_only_the_smallest_number_of_batches_is_made(uneven):
    sizes = sorted(len(rows) for rows in epoch_batches(uneven, 8, seed=0, epoch=0))
    assert sizes == [3, *[8] * 25]
    assert len(whole_batches(uneven, 8)) == 26


@pytest.mark.parametrize(("count", "world"), [(10, 4), (1, 3), (7, 2)])
def test_the_shares_of_all_processes_are_the_batch(count, world):
    given = examples([1] * count, classes=count)
    rows = torch.arange(count)
    taken = [
        label
        for rank in range(world)
        for part in Shares(rank, world, parts=2)(given, rows)
        for label in part.labels.tolist()
    ]
    assert sorted(taken) == list(range(count))


def test_a_process_without_a_share_gets_no_part():
    assert not list(Shares(2, 3)(examples([1, 1]), torch.arange(2)))


class Offset(nn.Module):
    """Scores (0, w x) of the first token x, so that the loss is known in closed form."""

    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.tensor(0.3, dtype=torch.float64))
        self.unused = nn.Parameter(torch.zeros(2, dtype=torch.float64))

    def forward(self, inputs, padding=None):
        x = inputs[:, 0].double() * self.w
        return torch.stack([torch.zeros_like(x), x], -1)


def gradient(given, *, parts, world=1):
    """The gradient in w of the mean loss, summed over processes as they would sum it."""
    total = 0.0
    rows = torch.arange(len(given))
    for rank in range(world):
        model = Offset()
        set_gradients(model, Shares(rank, world, parts=parts)(given, rows), ALONE, count=len(rows))
        total += model.w.grad.item()
        assert model.unused.grad.tolist() == [0.0, 0.0]
    return total


@pytest.mark.parametrize("parts", [1, 2, 3, 5])
@pytest.mark.parametrize("world", [1, 2, 4, 7])
def test_accumulation_and_processes_give_the_gradient_of_the_whole_batch(parts, world):
    given = examples([1] * 5)
    x = torch.tensor([1.0, 2.0, 3.0, 4.0, 5.0], dtype=torch.float64)
    label = torch.tensor([0.0, 1.0, 0.0, 1.0, 0.0], dtype=torch.float64)
    expected = (x * (torch.sigmoid(0.3 * x) - label)).mean().item()
    assert gradient(given, parts=parts, world=world) == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize("norm", [0.5, 2.0])
def test_clipping_shortens_only_what_is_too_long(norm):
    # G04: there is no loss scale to be removed first
    weight = nn.Parameter(torch.zeros(2, dtype=torch.float64))
    weight.grad = torch.tensor([0.6, 0.8], dtype=torch.float64) * norm
    assert clipped([weight], 1.0).item() == pytest.approx(norm)
    assert weight.grad.norm().item() == pytest.approx(min(norm, 1.0), rel=1e-5)


def test_the_accuracy_of_an_epoch_is_over_its_examples():
    parts = [Score(round(share * n), n) for share, n in [(0.7, 256), (0.8, 256), (0.9, 10)]]
    total = sum(parts, Score())
    assert total.accuracy == pytest.approx((179 + 205 + 9) / 522, abs=1e-15)
    assert total.accuracy == pytest.approx(0.752874, abs=1e-6)


def test_the_score_of_nothing_is_not_a_number():
    assert np.isnan(Score().accuracy)
    assert np.isnan(Score().loss)


@pytest.mark.parametrize("batch", [1, 3, 100])
def test_an_evaluation_does_not_depend_on_its_batches(batch):
    given = examples([1, 2, 1, 3, 1])
    found = evaluate(Offset(), given, Shares(0, 1), ALONE, batch=batch)
    x = torch.tensor([1.0, 2.0, 3.0, 4.0, 5.0], dtype=torch.float64) * 0.3
    label = torch.tensor([0.0, 1.0, 0.0, 1.0, 0.0], dtype=torch.float64)
    losses = nn.functional.softplus(x * (1 - 2 * label))
    assert (found.right, found.count) == (2, 5)
    assert_close(torch.tensor(found.loss), losses.mean(), rtol=1e-6, atol=0, check_dtype=False)


def test_h03_the_scores_of_all_processes_add_up_to_that_of_one():
    given = examples([1] * 10)
    whole = evaluate(Offset(), given, Shares(0, 1), ALONE, batch=10)
    parts = [evaluate(Offset(), given, Shares(rank, 4), ALONE, batch=10) for rank in range(4)]
    assert whole.count == 10  # each process knows the size of the batch, and sums the rest
    assert sum(part.right for part in parts) == whole.right
    assert sum(part.loss_sum for part in parts) == pytest.approx(whole.loss_sum, rel=1e-12)


def test_an_evaluation_stops_when_asked():
    assert (
        evaluate(Offset(), examples([1]), Shares(0, 1), ALONE, batch=1, stop=lambda: True) is None
    )
