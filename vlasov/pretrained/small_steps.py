r"""A trained network in steps smaller than a layer: how far it is from its continuous limit.

With A and M the maps of a block, :math:`x \mapsto M_l(A_l(x))`, norms and residuals included,

.. math:: \dot x = \bigl(A_t(x) - x\bigr) + \bigl(M_t(x) - x\bigr), \qquad t \in [0, L],

and each step h goes along the first bracket, then along the second (Lie splitting with Euler's
method). Steps of h = 1 are the network. For pre-norm the brackets are the branches of normalised
tokens; post-norm tokens are drawn to the normalised sum, since a trained norm applied at every
small step would apply its factors again and again.

``constant`` weights act on ``[l, l + 1)``; ``linear`` ones are those of layer l at t = l, with a
straight line to the next layer, and constant after the last.
"""

__all__ = ["INTERPOLATIONS", "LimitDistances", "limit_distances", "small_step_states"]

import copy
import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import torch
from jaxtyping import Float
from torch import Tensor, nn

from vlasov._shapes import Points
from vlasov.catalogue import nearest
from vlasov.engines.visibility import Visibility
from vlasov.errors import InvalidValue, Unsupported
from vlasov.transformer import Block, Transformer
from vlasov.transformer.norm_layers import WrapLayer
from vlasov.transformer.state_distances import StateDistances, state_distances

INTERPOLATIONS = ("constant", "linear")
"""How weights go from layer to layer."""

_Map = Callable[[Tensor], Tensor]


@dataclass(frozen=True, eq=False)
class LimitDistances:
    """Distances of a network from its flow by layer, and whether the flow is resolved.

    - ``network``: from the states of the network to those of the smallest steps;
    - ``refinement``: for each number of steps but the last, the distance of its states from those
      of the next one, root mean square over tokens relative to the latter;
    - ``order``: the slope of the refinement of the last state in the step; 1 for Euler's method on
      a smooth flow.
    """

    substeps: tuple[int, ...]
    network: StateDistances
    refinement: Float[Tensor, "pairs states"]
    order: Float[Tensor, " slopes"]


@torch.no_grad()
def limit_distances(
    model: Transformer,
    x: Points,
    *,
    substeps: Sequence[int] = (8, 16, 32),
    interpolation: str = "constant",
) -> LimitDistances:
    """Compare a network with its flow on the tokens `x`, as given to ``model.states``.

    `substeps` are the numbers of steps per layer, in increasing order; the last one is the flow.

    Raises:
        InvalidValue: for fewer than two numbers of steps, or numbers that do not increase.
        UnknownName: for an unknown interpolation.
        Unsupported: for a network without residual connections, which has no continuous limit.
    """
    counts = tuple(substeps)
    if len(counts) < 2 or any(a >= b for a, b in itertools.pairwise(counts)):
        raise InvalidValue(
            f"Two numbers of steps in increasing order are needed at least but got {counts}. "
            "Pass for example substeps=(8, 16, 32)."
        )
    flows = [
        small_step_states(model, x, substeps=count, interpolation=interpolation)
        for count in counts
    ]
    refinement = torch.stack([_apart(a, b) for a, b in itertools.pairwise(flows)])
    steps = torch.tensor(counts[:-1], dtype=refinement.dtype, device=refinement.device)
    fall = refinement[:-1, -1].log() - refinement[1:, -1].log()
    order = fall / (steps[1:] / steps[:-1]).log()
    network = state_distances(model.states(x), flows[-1])
    return LimitDistances(counts, network, refinement, order)


def small_step_states(
    model: Transformer, x: Points, *, substeps: int, interpolation: str = "constant"
) -> list[Points]:
    """The tokens at the ends of layers, from the start, with `substeps` steps per layer.

    Raises:
        InvalidValue: for fewer than one step.
        UnknownName: for an unknown interpolation.
        Unsupported: for a network without residual connections, which has no continuous limit.
    """
    if substeps < 1:
        raise InvalidValue(f"A layer takes one step at least but got {substeps}. Raise it.")
    if interpolation not in INTERPOLATIONS:
        raise nearest(interpolation, INTERPOLATIONS, kind="interpolation")
    if model.stabilisers.residual is not True:
        raise Unsupported(
            "A network without residual connections has no continuous limit: x <- h F(x) tends to "
            "0 with h. Keep the residuals, or take the network itself."
        )
    log_w, mask = model.log_weights(x).unsqueeze(-2), model.visibility(x)
    states = [model.enter(x)]
    for layer in range(model.config.depth):
        y = states[-1]
        for block in _blocks(model, layer, substeps, interpolation):
            for apply in _maps(block, layer, log_w, mask):
                y = y + (apply(y) - y) / substeps
        states.append(y)
    return states


def _blocks(model: Transformer, layer: int, substeps: int, interpolation: str) -> Iterator[Block]:
    """The block that acts at each step of a layer."""
    own = model.block(layer)
    last = layer + 1 == model.config.depth
    if interpolation == "constant" or last or model.stabilisers.shared:
        yield from itertools.repeat(own, substeps)
        return
    after = model.block(layer + 1)
    yield from (_between(own, after, step / substeps) for step in range(substeps))


def _between(block: Block, after: Block, fraction: float) -> Block:
    """A block with weights on the line between those of two blocks."""
    pairs = zip(block.parameters(), after.parameters(), strict=True)
    middle = {id(a): nn.Parameter(torch.lerp(a, b, fraction)) for a, b in pairs}
    return copy.deepcopy(block, middle)


def _maps(block: Block, layer: int, log_w: Tensor, mask: Visibility | None) -> list[_Map]:
    """The maps whose composition is the block: attention first, then the MLP."""
    rate = block.step * block.scheme.factor(layer, block.step)
    branches: list[tuple[WrapLayer | None, _Map, Tensor | float]] = []
    if block.attention is not None:
        force = block.attention.force(log_w, mask)
        branches.append((block.attention_norm, lambda y: force(0.0, y), block.attention_scale))
    if block.mlp is not None:
        branches.append((block.mlp_norm, block.mlp, block.mlp_scale))
    return [
        partial(joined.wrap, branch=branch, scale=scale * rate)
        for joined, branch, scale in branches
        if joined is not None
    ]


def _apart(states: Sequence[Tensor], others: Sequence[Tensor]) -> Tensor:
    """By layer, the distance token by token, relative to the size of the others."""
    norms = [
        (torch.linalg.vector_norm(x - y), torch.linalg.vector_norm(y))
        for x, y in zip(states, others, strict=True)
    ]
    return torch.stack([distance / size for distance, size in norms])
