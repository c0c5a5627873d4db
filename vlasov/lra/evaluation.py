"""Loss and accuracy over examples: sums over all of them, divided once."""

__all__ = ["Score", "evaluate"]

from dataclasses import dataclass

import torch
from torch import nn

from vlasov.interruption import Stop
from vlasov.lra.batches import Shares, whole_batches
from vlasov.lra.examples import Examples
from vlasov.lra.gradients import example_losses
from vlasov.lra.processes import Processes


@dataclass(frozen=True)
class Score:
    """Right answers and the sum of losses among `count` examples; scores of parts add.

    Example:
        >>> parts = [Score(7, 10, 5.0), Score(1, 1, 0.5)]
        >>> round((parts[0] + parts[1]).accuracy, 4)
        0.7273
    """

    right: int = 0
    count: int = 0
    loss_sum: float = 0.0

    def __add__(self, other: "Score") -> "Score":
        return Score(
            self.right + other.right, self.count + other.count, self.loss_sum + other.loss_sum
        )

    @property
    def accuracy(self) -> float:
        """The share of right answers; NaN of no example."""
        return self.right / self.count if self.count else float("nan")

    @property
    def loss(self) -> float:
        """The mean loss in nats; NaN of no example."""
        return self.loss_sum / self.count if self.count else float("nan")


@torch.no_grad()
def evaluate(
    model: nn.Module,
    examples: Examples,
    shares: Shares,
    processes: Processes,
    *,
    batch: int,
    stop: Stop = bool,
) -> Score | None:
    """The score of a model without dropout; None where someone asked to stop before the end.

    Every example counts once, whatever the number of processes.
    """
    trained = model.training
    model.eval()
    found = Score()
    for rows in whole_batches(examples, batch):
        if processes.any(stop()):
            return None
        sums = torch.zeros(2, dtype=torch.float64, device=processes.device)
        for part in shares(examples, rows):
            losses, right = example_losses(model, part, processes)
            sums += torch.stack([right.double().sum(), losses.double().sum()])
        right, loss = processes.sum(sums).tolist()
        found += Score(round(right), len(rows), loss)
    model.train(trained)
    return found
