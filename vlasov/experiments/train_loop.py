r"""Training by Adam for a number of steps, watched at every step.

.. math:: \mathrm{loss}_k, \qquad |\nabla \mathrm{loss}_k|, \qquad |W_{k+1} - W_k| \,/\, |W_k|

over all weights W together.
"""

__all__ = ["LAST", "MEASURES", "SPIKE", "last_loss", "trained"]

from collections.abc import Callable, Iterator, Sequence

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional

from vlasov.experiments.train_tasks import Batch
from vlasov.transformer.gradients import relative_change

MEASURES = ("loss", "gradient", "update_ratio")
"""What is known of a step; NaN behind divergence."""

LAST = 10
"""Steps whose mean is the last loss."""

SPIKE = 10.0
"""A loss this many times the first one is divergence."""

Measured = tuple[float, float, float]


def trained(
    model: nn.Module, draw: Callable[[], Batch], *, rate: float, steps: int
) -> dict[str, Tensor]:
    """Train the model in place on batches; the measures of each step and the step it diverged at.

    ``diverged`` is -1 where it did not. It is the first step whose loss or gradient is not finite,
    or whose loss is above `SPIKE` times the first; nothing is trained from there on.
    """
    found = list(_steps(model, draw, rate=rate, steps=steps))
    end = _divergence(found[-1][0], found[-1][1], first=found[0][0])
    rows = torch.full((steps, len(MEASURES)), torch.nan, dtype=torch.float64)
    rows[: len(found)] = torch.tensor(found, dtype=torch.float64)
    columns = dict(zip(MEASURES, rows.unbind(-1), strict=True))
    return columns | {"diverged": torch.tensor(len(found) - 1 if end else -1)}


def last_loss(loss: Float[Tensor, "*seeds steps"]) -> Float[Tensor, "*seeds"]:
    """The mean over the last steps; NaN after divergence."""
    return loss[..., -LAST:].mean(-1)


def _steps(
    model: nn.Module, draw: Callable[[], Batch], *, rate: float, steps: int
) -> Iterator[Measured]:
    weights = list(model.parameters())
    optimiser = torch.optim.Adam(weights, lr=rate)
    first: float | None = None
    for _ in range(steps):
        inputs, targets = draw()
        scores = model(inputs)
        loss = functional.cross_entropy(scores.flatten(0, -2), targets.flatten())
        optimiser.zero_grad()
        loss.backward()
        value, gradient = float(loss.detach()), _gradient(weights)
        first = value if first is None else first
        if _divergence(value, gradient, first=first):
            yield value, gradient, torch.nan
            return
        before = [weight.detach().clone() for weight in weights]
        optimiser.step()
        yield value, gradient, float(relative_change(before, weights))


def _divergence(loss: float, gradient: float, *, first: float) -> bool:
    known = torch.tensor([loss, gradient]).isfinite().all()
    return not bool(known) or loss > SPIKE * first


def _gradient(weights: Sequence[Tensor]) -> float:
    """The norm of the whole gradient; weights that the loss does not depend on have none."""
    # in float64: of a deep network without norm the squares leave the range of float32
    norms = [weight.grad.double().norm() for weight in weights if weight.grad is not None]
    return float(torch.stack(norms).norm())
