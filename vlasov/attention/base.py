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
from vlasov.errors import Unsupported
from vlasov.gaussian import Affine, Gaussian


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

    @property
    def needs_query_law(self) -> bool:
        """Whether what is seen of a Gaussian law depends on the law of the queries."""
        return False

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

    def affine(self, q: Gaussian, k: Gaussian, v: Gaussian, *, beta: float = 1.0) -> Affine:
        """What a query sees of a Gaussian law of tokens: an affine map of the query vector.

        The three laws are images of one law of tokens under the maps of each head: the columns of
        their factors belong to the same latent variables, and the head axis stands before the
        width, as in `average`. Where `needs_query_law` is False any law may stand for `q`. The map
        is NaN where the integral over the law diverges.

        Raises:
            Unsupported: where the variant does not keep Gaussians Gaussian.
        """
        raise Unsupported(
            f"The attention '{self.name}' does not keep Gaussians Gaussian: what a token sees is "
            f"no affine function of it. Simulate a cloud of tokens instead."
        )


def per_seen_weight(
    total: Float[Tensor, "*batch nq dv"], log_w: KeyLogits, mask: Visibility | None
) -> Float[Tensor, "*batch nq dv"]:
    """A sum over the visible keys divided by their weight; 0 where nothing is seen."""
    if mask is None or not mask.hides:
        return total
    seen = mask.visible_weight(log_w).unsqueeze(-1)
    return total / torch.where(seen == 0, 1.0, seen)
