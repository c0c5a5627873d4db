"""A Transformer as an ablation reads it: states, weights by layer, its limit and its equation."""

__all__ = ["Network", "Source", "Subject", "counted"]

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from torch import Tensor

from vlasov.experiments.ablate_cases import Case
from vlasov.pde import TransformerPDE
from vlasov.pretrained import small_step_states
from vlasov.transformer import Block, Transformer, pde_of
from vlasov.transformer.positions import shifted_places


@dataclass(frozen=True, eq=False)
class Network:
    """A Transformer whose layers are each made of `substeps` equal steps; `padding` is unseen.

    `trained` is for norms with trained factors, which must act once per layer: its limit is that
    of `vlasov.pretrained.small_step_states`.
    """

    model: Transformer
    padding: Tensor | None = None
    substeps: int = 1
    trained: bool = False

    @property
    def depth(self) -> int:
        """Number of layers."""
        return self.model.config.depth

    def states(self, x: Tensor) -> list[Tensor]:
        """The tokens at the start and after each layer, with their graph."""
        states = [self.model.enter(x)]
        log_w = self.log_weights(x)
        for layer in range(self.depth):
            now = states[-1]
            for part in range(self.substeps):
                now = self._step(layer, part, now, log_w)
            states.append(now)
        return states

    def _step(self, layer: int, part: int, x: Tensor, log_w: Tensor) -> Tensor:
        places = shifted_places(log_w)
        return self.model.block(layer)(
            x,
            log_w=log_w.unsqueeze(-2),
            mask=self.model.visibility(x, places),
            layer=layer * self.substeps + part,
            places=places,
        )

    def log_weights(self, x: Tensor) -> Tensor:
        """The weights of the tokens."""
        return self.model.log_weights(x, self.padding)

    def readout(self, x: Tensor) -> Tensor:
        """The last state as a head sees it: behind the last norm, where the scheme has one."""
        return self.model.leave(x)

    def weights(self) -> list[list[Tensor]]:
        """The weights of each layer; those that layers share belong to the first."""
        return [list(block.parameters()) for block in self.model.blocks]

    def refined(self, substeps: int) -> "Network":
        """The same weights with each layer in smaller steps: towards the limit of its scheme."""
        kept = {id(one): one for one in self.model.parameters()}
        model = copy.deepcopy(self.model, kept)
        for block in model.modules():
            if isinstance(block, Block):
                block.step /= substeps
        return replace(self, model=model, substeps=substeps)

    def small_steps(self, x: Tensor, substeps: int) -> list[Tensor]:
        """The states of the same weights in smaller steps, at the ends of layers."""
        if self.trained:
            return small_step_states(self.model, x, substeps=substeps)
        return self.refined(substeps).states(x)

    def equation(self, *, mlp: bool) -> TransformerPDE:
        """The equation with the same weights, in R^d, without norms and residual scales."""
        return pde_of(self.model, mlp=mlp).replace(geometry="euclid")

    def attention(self, layer: int) -> TransformerPDE:
        """The equation of the attention of one layer for all times."""
        return self.equation(mlp=False).replace(projections=self.model.projections(layer))


@dataclass(frozen=True, eq=False)
class Subject:
    """A network and the tokens that run through it."""

    network: Network
    points: Tensor
    seed: int

    @property
    def log_w(self) -> Tensor:
        """The weights of the tokens; minus infinity for padding."""
        return self.network.log_weights(self.points)


@dataclass(frozen=True, eq=False)
class Source:
    """Where networks and tokens come from: a grid of cases, each with several samples.

    `subject` gives the weights and tokens of a sample, counted from 0, under a case; `lengths` are
    the numbers of tokens of the samples, and `unit` is what a sample is.
    """

    subject: Callable[[Case, int], Subject]
    cases: Sequence[Case]
    lengths: Sequence[int]
    unit: str

    @property
    def samples(self) -> int:
        """The number of samples."""
        return len(self.lengths)

    @property
    def tokens(self) -> str:
        """The number of tokens of a sample in words."""
        least, most = min(self.lengths), max(self.lengths)
        return str(most) if least == most else f"{least} to {most}"

    @property
    def described(self) -> str:
        """The number of samples in words."""
        return counted(self.samples, self.unit)


def counted(number: int, noun: str) -> str:
    """A number of things in words.

    Example:
        >>> counted(1, "network"), counted(2, "seed")
        ('1 network', '2 seeds')
    """
    return f"{number} {noun}{'' if number == 1 else 's'}"
