"""The training loop against steps that are known, and its ends."""

import math

import pytest
import torch
from torch import nn

from vlasov.experiments.train_loop import LAST, last_loss, trained


class Constant(nn.Module):
    """The same scores at every place, whatever the sequence; broken from some step on."""

    def __init__(self, scores, *, infinite_from=None):
        super().__init__()
        self.scores = nn.Parameter(torch.tensor(scores, dtype=torch.float64))
        self.left = infinite_from

    def forward(self, inputs):
        broken = self.left == 0
        self.left = None if self.left is None else self.left - 1
        return (self.scores / (0.0 if broken else 1.0)).expand(*inputs.shape, -1)


def always(*targets):
    batch = torch.tensor([targets])
    return lambda: (torch.zeros_like(batch), batch)


def test_the_first_step_is_known():
    found = trained(Constant([1.0] * 4), always(0, 0, 1, 1), rate=1e-3, steps=1)
    assert found["loss"].item() == pytest.approx(math.log(4))
    assert found["gradient"].item() == pytest.approx(0.5)  # four entries of +-1/4
    # Adam's first step is the rate in every coordinate
    assert found["update_ratio"].item() == pytest.approx(1e-3, rel=1e-6)
    assert found["diverged"].item() == -1


def test_training_reaches_the_entropy_of_the_targets():
    found = trained(Constant([1.0, 0.0, 0.0]), always(0, 1, 1, 1), rate=0.05, steps=400)
    entropy = -(0.25 * math.log(0.25) + 0.75 * math.log(0.75))
    assert found["loss"][-1].item() == pytest.approx(entropy, abs=1e-2)
    assert found["loss"][0] > found["loss"][-1]
    assert found["gradient"][-1] < 0.02 < found["gradient"][0]


def test_a_loss_of_ten_times_the_first_is_divergence():
    flat = [0.0, 0.0]
    turns = iter([always(0)(), always(0)(), always(1)(), always(1)()])
    # two steps to the right of rate 10 score the other side below -10 ln 2
    found = trained(Constant(flat), lambda: next(turns), rate=10.0, steps=4)
    assert found["diverged"].item() == 2
    assert found["loss"][2] > 10 * found["loss"][0]
    assert found["loss"].isfinite().tolist() == [True, True, True, False]
    assert found["update_ratio"][2].isnan()


@pytest.mark.parametrize("step", [0, 3])
def test_numbers_that_are_not_finite_are_divergence(step):
    model = Constant([1.0, 2.0], infinite_from=step)
    found = trained(model, always(0), rate=1e-3, steps=6)
    assert found["diverged"].item() == step
    assert found["loss"][:step].isfinite().all()
    assert not found["loss"][step:].isfinite().any()


def test_the_last_loss_is_the_mean_of_the_last_steps_and_unknown_after_divergence():
    loss = torch.arange(30.0).repeat(2, 1)
    loss[1, 25:] = torch.nan
    first, second = last_loss(loss).tolist()
    assert first == pytest.approx(sum(range(30 - LAST, 30)) / LAST)
    assert math.isnan(second)
