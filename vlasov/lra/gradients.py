r"""The gradient of the mean loss of a batch, however the batch is cut.

.. math:: \nabla \frac 1N \sum_{\text{processes}} \sum_{\text{parts}} \sum_i \ell_i,
          \qquad N = \text{examples of the whole batch}
"""

__all__ = ["clipped", "example_losses", "set_gradients"]

from collections.abc import Iterable

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional

from vlasov.lra.examples import Batch
from vlasov.lra.processes import Processes


def example_losses(
    model: nn.Module, batch: Batch, processes: Processes
) -> tuple[Float[Tensor, " b"], Float[Tensor, " b"]]:
    """The cross entropy of each example in nats, and 1 where its label scores highest."""
    device = processes.device
    padding = batch.padding.to(device) if bool(batch.padding.any()) else None
    labels = batch.labels.to(device)
    with torch.autocast(device.type, torch.bfloat16, enabled=processes.autocast):
        scores = model(batch.inputs.to(device), padding)
    scores = scores.to(torch.promote_types(scores.dtype, torch.float32))
    right = (scores.argmax(-1) == labels).to(scores)
    return functional.cross_entropy(scores, labels, reduction="none"), right


def set_gradients(
    model: nn.Module, parts: Iterable[Batch], processes: Processes, *, count: int
) -> Float[Tensor, ""]:
    """Set the gradient of the mean loss over `count` examples, and return that loss.

    `parts` are what this process has of them, perhaps nothing.
    """
    model.zero_grad()
    total = torch.zeros((), device=processes.device)
    for part in parts:
        losses, _ = example_losses(model, part, processes)
        loss = losses.sum() / count
        loss.backward()
        total = total + loss.detach()
    weights = [weight for weight in model.parameters() if weight.requires_grad]
    for weight in weights:
        if weight.grad is None:
            weight.grad = torch.zeros_like(weight)
    return _summed(weights, total, processes)


def clipped(weights: Iterable[nn.Parameter], limit: float) -> Float[Tensor, ""]:
    """Shorten the gradient to norm `limit` where it is longer; the norm that it had."""
    return nn.utils.clip_grad_norm_(weights, limit)


def _summed(weights: list[nn.Parameter], loss: Tensor, processes: Processes) -> Tensor:
    """Sum gradients and loss over the processes, in one message."""
    if processes.world == 1:
        return loss
    gradients = [weight.grad for weight in weights if weight.grad is not None]
    flat = torch.cat([loss.flatten().to(gradients[0]), *(one.flatten() for one in gradients)])
    flat = processes.sum(flat)
    for gradient, part in zip(
        gradients, flat[1:].split([one.numel() for one in gradients]), strict=True
    ):
        gradient.copy_(part.view_as(gradient))
    return flat[0]
