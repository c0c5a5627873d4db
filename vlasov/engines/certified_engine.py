"""What the certified engines share: a tolerance, and averages with log-sums in one pass."""

__all__ = ["LARGEST", "CertifiedEngine", "require_tolerance"]

import abc
import dataclasses
from dataclasses import dataclass
from typing import ClassVar, TypeVar

from torch import Tensor

from vlasov.engines.base import Engine, PairKernel
from vlasov.engines.pairs import Pairs
from vlasov.errors import EngineUnsupported, InvalidValue

LARGEST = 0.1
"""The largest tolerance."""

_GENERAL = "'tiled' or 'dense'"

Self = TypeVar("Self", bound="CertifiedEngine")


def require_tolerance(engine: str, tolerance: float) -> None:
    """Refuse what no certified sum can mean.

    Raises:
        InvalidValue: for a tolerance outside (0, 0.1].
    """
    if not 0 < tolerance <= LARGEST:
        raise InvalidValue(
            f"Engine '{engine}' takes a tolerance above 0 and up to {LARGEST} but got "
            f"{tolerance}; give one, as in '{engine}:tolerance=1e-6'."
        )


@dataclass(frozen=True)
class CertifiedEngine(Engine):
    """An engine whose errors are proven, and which finds averages and log-sums together.

    Args:
        tolerance: of an average, relative to the largest distance of a value from it; of a
            log-sum, absolute.

    Raises:
        InvalidValue: for a tolerance outside (0, 0.1].
    """

    tolerance: float = 1e-8

    scope: ClassVar[str]
    """Which exponentials it sums, in words."""

    def __post_init__(self) -> None:
        require_tolerance(self.name, self.tolerance)

    def within(self: Self, tolerance: float) -> Self:
        """This engine with the smaller of the two tolerances."""
        return dataclasses.replace(self, tolerance=min(self.tolerance, tolerance))

    @abc.abstractmethod
    def _sums(self, pairs: Pairs) -> Tensor:
        """Averages and, as the last column, log-sums."""

    def _average(self, pairs: Pairs) -> Tensor:
        return self._sums(pairs)[..., :-1]

    def _log_sum(self, pairs: Pairs) -> Tensor:
        return self._sums(dataclasses.replace(pairs, v=pairs.k[..., :0]))[..., -1]

    def _average_and_log_sum(self, pairs: Pairs) -> tuple[Tensor, Tensor]:
        both = self._sums(pairs)
        return both[..., :-1], both[..., -1]

    def _pair_sum(self, pair: PairKernel, pairs: Pairs) -> Tensor:
        raise self._refusal("a kernel that is no exponential", _GENERAL)

    def _leader_average(self, pairs: Pairs, tie: float) -> Tensor:
        raise self._refusal("the average over leaders", _GENERAL)

    def _refusal(self, what: str, others: str = f"'fused', {_GENERAL}") -> EngineUnsupported:
        return EngineUnsupported(
            f"Engine '{self.name}' sums exponentials {self.scope}, but was asked for {what}; "
            f"use engine {others} (or 'auto', which chooses)."
        )
