"""A norm scheme: a description from which the norm modules of every layer are built."""

__all__ = ["NormScheme", "NormedScheme"]

import abc
import math
from dataclasses import dataclass
from typing import ClassVar

from torch import nn

from vlasov.errors import InvalidValue
from vlasov.transformer.norm_layers import Norm, WrapLayer


@dataclass(frozen=True)
class NormScheme(abc.ABC):
    """A rule by which every layer of a model normalises."""

    name: ClassVar[str]
    same_in_every_layer: ClassVar[bool] = True

    @property
    def embedding_eps(self) -> float:
        """The eps of a norm after the embedding."""
        return 1e-5

    @abc.abstractmethod
    def build(
        self, width: int, layer: int = 0, depth: int = 1, *, residual: bool = True
    ) -> WrapLayer:
        """The module of one branch of layer `layer` (from 0) of `depth`."""

    def enter(self, width: int) -> nn.Module:
        """What is done to the embedding before the first layer."""
        return nn.Identity()

    def leave(self, width: int) -> nn.Module:
        """What is done to the last state before pooling."""
        return nn.Identity()

    def factor(self, layer: int, step: float) -> float:
        """What multiplies the residual scale of one layer."""
        return 1.0

    def init_gain(self, depth: int) -> float:
        """What multiplies value, output and perceptron weights at the start of training."""
        return 1.0

    @abc.abstractmethod
    def described(self) -> str:
        """The scheme in words."""


@dataclass(frozen=True)
class NormedScheme(NormScheme):
    """A scheme with a norm over the width of a token.

    `kind` is ``layer`` (centred) or ``rms``; `gain` says whether the norm has trained factors (and
    offsets for ``layer``); `eps` is added to the variance inside the root.

    Raises:
        InvalidValue: for another kind, or an eps below 0.
    """

    kind: str = "layer"
    gain: bool = True
    eps: float = 1e-5

    def __post_init__(self) -> None:
        if self.kind not in ("layer", "rms"):
            raise InvalidValue(
                f"The norm '{self.name}' is of kind 'layer' or 'rms' but got '{self.kind}'; "
                "choose one of the two."
            )
        if not (math.isfinite(self.eps) and self.eps >= 0):
            raise InvalidValue(f"The eps of a norm is at least 0 but is {self.eps}; try 1e-5.")

    def described(self) -> str:  # noqa: D102
        kind = "LayerNorm" if self.kind == "layer" else "RMS norm"
        return f"{self.name} {kind}" + ("" if self.gain else " without gain")

    @property
    def embedding_eps(self) -> float:  # noqa: D102
        return self.eps

    def norm(self, width: int) -> Norm:
        """A new norm of this kind."""
        return Norm(width, kind=self.kind, gain=self.gain, eps=self.eps)
