"""What every way of giving the parameters along depth has in common."""

__all__ = ["ParameterPath", "QueriesAndKeys"]

import abc
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor

if TYPE_CHECKING:
    from vlasov.projections.per_head import Projections

QueriesAndKeys = Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]
"""What is done to the queries and keys (h, n, k) of all tokens after their maps."""


class ParameterPath(abc.ABC):
    """What the heads apply at each time of the equation, in layers times step."""

    @property
    @abc.abstractmethod
    def heads(self) -> int:
        """Number of heads."""

    @property
    @abc.abstractmethod
    def width(self) -> int:
        """Width of a token."""

    @abc.abstractmethod
    def at(self, t: float | Tensor) -> "Projections":
        """The constant maps at `t`.

        A tensor of times, one for each cloud of a batch, puts its axes before the head axis of
        the maps; clouds that share their maps get them without these axes.
        """

    @abc.abstractmethod
    def tensors(self) -> Iterable[Tensor]:
        """Every tensor that may require gradients."""

    @abc.abstractmethod
    def to(
        self, *, device: torch.device | str | None = None, dtype: torch.dtype | None = None
    ) -> "ParameterPath":
        """The same path on another device or in another precision."""

    def breakpoints(self, start: float, until: float) -> Sequence[float]:
        """Times strictly between the two at which the maps jump or have a kink, in order."""
        return []
