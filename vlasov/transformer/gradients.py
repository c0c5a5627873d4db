r"""How a scalar at the end of a network changes with its states and its weights.

.. math:: |\partial S / \partial X_l|_F, \qquad |\partial S / \partial W_l|_F, \qquad
          |\partial S / \partial W_l|_F \,/\, |W_l|_F

over all weights :math:`W_l` of layer l together. The last is the update-to-weight ratio of one
step of gradient descent with rate 1; `relative_change` is that of any step that was taken.

Source: prediction V49 of the specification.
"""

__all__ = ["GradientNorms", "gradient_norms", "relative_change"]

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from vlasov.errors import InvalidValue


@dataclass(frozen=True, eq=False)
class GradientNorms:
    """Norms by state and by layer; infinite or NaN where the gradient overflows."""

    states: Float[Tensor, " states"]
    weights: Float[Tensor, " layers"]
    relative: Float[Tensor, " layers"]


def gradient_norms(
    scalar: Float[Tensor, ""], states: Sequence[Tensor], layers: Sequence[Sequence[Tensor]]
) -> GradientNorms:
    """The gradients of a scalar by the states it was computed from and by the weights of layers.

    A state or weight that the scalar does not depend on counts as zero, as does a layer without
    weights.

    Raises:
        InvalidValue: for a scalar without a graph.

    Example:
        >>> x = torch.tensor([[3.0, 4.0]], requires_grad=True)
        >>> gradient_norms(x.square().sum() / 2, [x], []).states.item()
        5.0
    """
    if not scalar.requires_grad:
        raise InvalidValue(
            "A gradient needs a scalar with a graph but this one has none. Let the first state or "
            "the weights require gradients, and compute outside `torch.no_grad()`."
        )
    weights = [weight for layer in layers for weight in layer]
    wanted = [*states, *weights]
    found = torch.autograd.grad(scalar, wanted, allow_unused=True, materialize_grads=True)
    by_state, by_weight = found[: len(states)], iter(found[len(states) :])
    changes = [_norm([next(by_weight) for _ in layer], scalar) for layer in layers]
    sizes = [_norm(layer, scalar) for layer in layers]
    change, size = _row(changes, scalar), _row(sizes, scalar)
    return GradientNorms(
        states=_row([_norm([one], scalar) for one in by_state], scalar),
        weights=change,
        relative=change / torch.where(size > 0, size, 1.0),
    )


def relative_change(before: Sequence[Tensor], after: Sequence[Tensor]) -> Float[Tensor, ""]:
    """The size of a step of the weights over their size before it.

    Example:
        >>> relative_change([torch.tensor([3.0, 4.0])], [torch.tensor([3.0, 4.5])]).item()
        0.10000000149011612
    """
    if not before:
        raise InvalidValue("A step needs one weight at least but got none. Pass the weights.")
    steps = [new.detach() - old.detach() for old, new in zip(before, after, strict=True)]
    return _norm(steps, before[0]) / _norm(before, before[0])


def _row(numbers: Sequence[Tensor], like: Tensor) -> Tensor:
    return torch.stack(list(numbers)) if numbers else like.new_zeros(0)


def _norm(tensors: Sequence[Tensor], like: Tensor) -> Tensor:
    """The Frobenius norm of all tensors together, whose squares stay in range."""
    if not tensors:
        return like.new_zeros(())
    parts = [one.detach().to(like) for one in tensors]
    largest = torch.stack([part.abs().amax() for part in parts]).amax()
    if not bool(largest > 0) or not bool(largest.isfinite()):
        return largest
    squares = torch.stack([(part / largest).square().sum() for part in parts])
    return largest * squares.sum().sqrt()
