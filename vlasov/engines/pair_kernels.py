"""Kernels of the score that an engine can recognise, and sum without calling them."""

__all__ = ["Identity", "Logistic"]

from dataclasses import dataclass

from torch import Tensor


@dataclass(frozen=True)
class Identity:
    """The score itself."""

    def __call__(self, scores: Tensor) -> Tensor:
        """The same scores."""
        return scores


@dataclass(frozen=True)
class Logistic:
    r"""The logistic function :math:`1/(1 + e^{-(s + b)})` of the score s, with the bias b."""

    bias: float = 0.0

    def __call__(self, scores: Tensor) -> Tensor:
        """A number in [0, 1] for each score."""
        return (scores + self.bias).sigmoid()
