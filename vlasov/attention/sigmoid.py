"""Sigmoid attention: each pair is weighted on its own."""

__all__ = ["Sigmoid"]

import math
from dataclasses import dataclass
from typing import ClassVar

from jaxtyping import Float
from torch import Tensor

from vlasov._shapes import KeyLogits, Keys, Queries, Values
from vlasov.attention.base import Attention, per_seen_weight
from vlasov.engines import Engine
from vlasov.engines.pair_kernels import Logistic
from vlasov.engines.visibility import Visibility
from vlasov.errors import InvalidValue


@dataclass(frozen=True)
class Sigmoid(Attention):
    r"""A sum weighted by the logistic function s of the score, over the cloud as a measure.

    .. math:: \sum_j w_j\, s\bigl(\beta\langle Qx_i, Kx_j\rangle + b\bigr)\, V x_j,
              \qquad s(z) = \frac{1}{1 + e^{-z}}

    For weights in (0, 1) without competition between keys; ``bias`` b is added to every score.
    Gaussians do not stay Gaussian under it.

    Source: Ramapuram et al., Theory, analysis, and best practices for sigmoid self-attention,
    arXiv:2409.04431, averaged over the tokens; named in Castin et al., arXiv:2501.18322.
    """

    name: ClassVar[str] = "sigmoid"
    bias: float = 0.0

    def __post_init__(self) -> None:
        if not math.isfinite(self.bias):
            raise InvalidValue(
                f"Sigmoid attention takes a finite bias but got {self.bias}; give a number."
            )

    @property
    def row_sum(self) -> None:  # noqa: D102
        return None

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
        """The engine's pair sum of the logistic function, per weight that is seen."""
        total = engine.pair_sum(Logistic(self.bias), beta * q, k, v, log_w, mask=mask)
        return per_seen_weight(total, log_w, mask)
