r"""How the inner products of pairs are distributed, as masses of equal bins.

.. math:: h_b = \sum_{i,j} w_i w_j \,[\langle x_i, x_j\rangle \in \mathrm{bin}_b]

A token forms a pair with itself too. The outermost bins also hold what lies beyond `low` and
`high`.
"""

__all__ = ["Histogram"]

import math
from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor

from vlasov.cloud import Cloud
from vlasov.errors import InvalidValue
from vlasov.observables.base import Observable, per_cloud

_BLOCK = 2**20


@dataclass(frozen=True)
class Histogram(Observable):
    """Masses of `bins` equal intervals of inner products from `low` to `high`; they sum to one.

    The interval is fixed, so that frames can be compared; on the unit sphere the default one holds
    every pair. Time is of order n^2 d, memory of order n.

    Raises:
        InvalidValue: for no bin, or an empty interval.
    """

    name: ClassVar[str] = "histogram"
    bins: int = 50
    low: float = -1.0
    high: float = 1.0

    def __post_init__(self) -> None:
        if self.bins < 1:
            raise InvalidValue(
                f"A histogram needs one bin or more but got {self.bins}. Take for example bins=50."
            )
        if not (math.isfinite(self.low) and math.isfinite(self.high) and self.low < self.high):
            raise InvalidValue(
                f"A histogram needs low < high, both finite, but got {self.low} and {self.high}. "
                "Exchange or separate them."
            )

    def measure(self, cloud: Cloud) -> Float[Tensor, "*batch bins"]:
        """The masses, from the lowest bin to the highest."""
        return per_cloud(cloud, self._masses)

    def _masses(self, x: Tensor, w: Tensor) -> Tensor:
        w = w.double()  # in fp32 a sum of n^2 small masses would stand still
        masses = w.new_zeros(self.bins)
        rows = max(1, _BLOCK // len(x))
        for some, weights in zip(x.split(rows), w.split(rows), strict=True):
            place = (some @ x.mT - self.low) / (self.high - self.low) * self.bins
            index = place.clamp(0, self.bins - 1).long().flatten()
            masses += torch.bincount(index, (weights[:, None] * w).flatten(), self.bins)
        return masses
