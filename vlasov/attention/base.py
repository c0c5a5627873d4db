"""An attention variant: how much token j counts for token i, as a function of the measure."""

__all__ = ["Attention", "per_seen_weight"]

import abc
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor

from vlasov._shapes import KeyLogits, Keys, Queries, Values
from vlasov.engines import Engine
from vlasov.engines.visibility import Visibility


class Attention(abc.ABC):
    """Weights of a token's view of the others; a frozen dataclass of scalars only.

    Matrices come in as projected queries, keys and values, so the same object serves the
    simulator, a trained layer and a Gaussian reduction.
    """

    name: ClassVar[str]

    @property
    def row_sum(self) -> float | None:
        """The sum of the weights of a row that sees something; None where it varies."""
        return 1.0

    @property
    def row_stochastic(self) -> bool:
        """Whether the weights of a row are positive and sum to one."""
        return self.row_sum == 1.0

    @property
    def bounded(self) -> bool:
        """False where even a finite cloud can blow up in finite time."""
        return True

    @abc.abstractmethod
    def average(
        self,
        q: Queries,
        k: Keys,
        v: Values,
        log_w: KeyLogits,
        engine: Engine,
        *,
        beta: float = 1.0,
        mask: Visibility | None = None,
    ) -> Float[Tensor, "*batch nq dv"]:
        """What each token sees of the others: the engine sum that defines this variant.

        Weights are normalised (``logsumexp(log_w) = 0``), so an unnormalised sum is an average
        over the cloud; under a mask it is divided by the weight that is seen. A token that sees
        nothing gets 0. With ``v`` the identity matrix the result is the matrix of weights.
        """


def per_seen_weight(
    total: Float[Tensor, "*batch nq dv"], log_w: KeyLogits, mask: Visibility | None
) -> Float[Tensor, "*batch nq dv"]:
    """A sum over the visible keys divided by their weight; 0 where nothing is seen."""
    if mask is None or not mask.hides:
        return total
    seen = mask.visible_weight(log_w).unsqueeze(-1)
    return total / torch.where(seen == 0, 1.0, seen)
