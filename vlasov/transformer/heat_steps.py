r"""The explicit diffusion step along positions, with the gradients written out.

.. math:: y = x - \sum_k B_k^\top (c_k \odot C_k x), \qquad
          \bar x = \bar y - \sum_k C_k^\top (c_k \odot B_k \bar y), \qquad
          \bar c_k = -\sum_i (B_k \bar y)_i \odot (C_k x)_i

The readings B and C of a stencil with stride h are differences of tokens h apart, and for
replicated ends those of the tokens near the ends. Nothing but x is kept for the backward pass.
"""

__all__ = ["Stencil", "heat_step", "maker"]

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, cast, runtime_checkable

import torch
from torch import Tensor

from vlasov.transformer.real_tokens import RealTokens


@dataclass(frozen=True)
class Stencil:
    """The strides of the step, and what holds at the ends.

    `causal` looks back only. `conservative` leaves out the neighbours beyond the ends, instead
    of repeating the end token. `transposed` makes the transposed step.
    """

    scales: tuple[int, ...]
    causal: bool = False
    conservative: bool = False
    transposed: bool = False


def heat_step(x: Tensor, rates: Tensor, stencil: Stencil, tokens: RealTokens) -> Tensor:
    """One step on points (..., n, d).

    `rates` has the products of weight and strength, first by scale, then as they multiply
    differences of points. Padded tokens keep their values, whatever these are.
    """
    moved = _HeatStep.apply(tokens.to_front(x), rates, stencil, tokens)
    return tokens.restored(cast(Tensor, moved))


def maker(y: Tensor) -> Callable[[], Tensor] | None:
    """What makes the result of `heat_step` again, from what is kept for its gradient.

    None for other tensors, and for rows whose real tokens had to be brought to the front.
    """
    node: Any = y.grad_fn
    if node is None or node.name() != "_HeatStepBackward":
        return None
    x, rates = node.saved_tensors
    return partial(_stepped, x.detach(), rates.detach(), node.stencil, node.tokens)


@torch.no_grad()
def _stepped(x: Tensor, rates: Tensor, stencil: Stencil, tokens: RealTokens) -> Tensor:
    c, y = rates.to(x.dtype), x.clone()
    for number, write, read in _sided(stencil, tokens, x):
        write.add(read.read(x).mul_(c[number]).neg_(), y)
    return y


@runtime_checkable
class _Reading(Protocol):
    """A linear map C on tokens, and the addition of its transpose."""

    def read(self, x: Tensor) -> Tensor: ...

    def add(self, part: Tensor, out: Tensor) -> None:
        """Add C^T part to `out`, in place."""
        ...


@dataclass(frozen=True, eq=False)
class _Lagged:
    """Every token from number h on; with `differ` less the one h before it."""

    h: int
    tokens: RealTokens
    differ: bool

    def read(self, x: Tensor) -> Tensor:
        later = x[..., self.h :, :]
        part = later - x[..., : -self.h, :] if self.differ else later.clone()
        return self.tokens.without_padding(part, self.h)

    def add(self, part: Tensor, out: Tensor) -> None:
        out[..., self.h :, :].add_(part)
        if self.differ:
            out[..., : -self.h, :].sub_(part)


@dataclass(frozen=True, eq=False)
class _NearEnd:
    """The tokens `places`; with `differ` less the end token, whose place is `end`."""

    places: Tensor
    end: Tensor
    differ: bool

    def read(self, x: Tensor) -> Tensor:
        part = x.take_along_dim(self.places, -2)
        return part - x.take_along_dim(self.end, -2) if self.differ else part

    def add(self, part: Tensor, out: Tensor) -> None:
        out.scatter_add_(-2, self.places.expand_as(part), part)
        if self.differ:
            total = part.sum(-2, keepdim=True)
            out.scatter_add_(-2, self.end.expand_as(total), -total)


def _readings(
    stencil: Stencil, tokens: RealTokens, x: Tensor
) -> Iterator[tuple[int, _Reading, _Reading]]:
    """Number of the scale, B and C of every part of the step."""
    for number, h in enumerate(stencil.scales):
        differences = _Lagged(h, tokens, differ=True)
        yield (
            number,
            _Lagged(h, tokens, differ=False) if stencil.causal else differences,
            differences,
        )
        if stencil.conservative or h == 1:
            continue
        steps = torch.arange(h, device=x.device).unsqueeze(-1)
        steps = steps.expand(*(1,) * (x.dim() - 2), h, 1)
        yield number, *_replicated(steps[..., 1:, :], steps[..., :1, :])
        if not stencil.causal:
            last = _last(tokens, x.device)
            yield number, *_replicated(last - steps[..., 1:, :], last - steps[..., :1, :])


def _replicated(places: Tensor, end: Tensor) -> tuple[_Reading, _Reading]:
    return _NearEnd(places, end, differ=False), _NearEnd(places, end, differ=True)


def _last(tokens: RealTokens, device: torch.device) -> Tensor:
    counts = torch.as_tensor(tokens.counts(), device=device)
    return (counts - 1)[..., None, None]


class _HeatStep(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,  # noqa: ANN401 - torch's context has no type
        x: Tensor,
        rates: Tensor,
        stencil: Stencil,
        tokens: RealTokens,
    ) -> Tensor:
        ctx.save_for_backward(x, rates)
        ctx.stencil, ctx.tokens = stencil, tokens
        return _stepped(x, rates, stencil, tokens)

    @staticmethod
    def backward(
        ctx: Any,  # noqa: ANN401 - torch's context has no type
        *gradients: Tensor,
    ) -> tuple[Tensor, Tensor, None, None]:
        (gradient,) = gradients
        x, rates = cast("tuple[Tensor, Tensor]", ctx.saved_tensors)
        c, to_x = rates.to(x.dtype), gradient.clone()
        to_rates = [torch.zeros_like(row) for row in rates]
        for number, write, read in _sided(ctx.stencil, ctx.tokens, x):
            part = write.read(gradient)
            along = (part * read.read(x)).to(rates.dtype)
            to_rates[number] = to_rates[number] - along.sum_to_size(rates[number].shape)
            del along  # the memory of a training step is largest here
            read.add(part * -c[number], to_x)
        return to_x, torch.stack(to_rates), None, None


def _sided(
    stencil: Stencil, tokens: RealTokens, x: Tensor
) -> Iterator[tuple[int, _Reading, _Reading]]:
    """`_readings`, with B and C exchanged for the transposed step."""
    for number, write, read in _readings(stencil, tokens, x):
        yield (number, read, write) if stencil.transposed else (number, write, read)
