"""Hardmax attention: only the leaders of a row count."""

__all__ = ["Hardmax"]

from dataclasses import dataclass
from typing import ClassVar

from jaxtyping import Float
from torch import Tensor

from vlasov._shapes import KeyLogits, Keys, Queries, Values
from vlasov.attention.base import Attention
from vlasov.engines import Engine
from vlasov.engines.visibility import Visibility
from vlasov.errors import InvalidValue


@dataclass(frozen=True)
class Hardmax(Attention):
    r"""The average over the keys of the largest score, the limit of softmax at large beta.

    .. math:: \frac{\sum_{j \in C_i} w_j\, V x_j}{\sum_{j \in C_i} w_j}, \qquad
              C_i = \mathrm{argmax}_j\, \beta\langle Qx_i, Kx_j\rangle

    Scores within ``tie`` times the largest absolute score of the row are equal. For the study of
    leaders; the field jumps where leaders change, so only values carry gradients.

    Source: Alcalde, Fantuzzi and Zuazua, Clustering in pure-attention hardmax transformers,
    arXiv:2407.01602.
    """

    name: ClassVar[str] = "hardmax"
    tie: float = 1e-12

    def __post_init__(self) -> None:
        if not 0 <= self.tie < 1:
            raise InvalidValue(
                f"Hardmax attention takes 0 <= tie < 1 but got {self.tie}; it is the relative "
                f"gap below which two scores are equal."
            )

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
        """The engine's average over the leaders of each row."""
        return engine.leader_average(beta * q, k, v, log_w, tie=self.tie, mask=mask)
