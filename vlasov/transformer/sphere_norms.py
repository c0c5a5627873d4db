"""The schemes whose tokens live on a sphere at every layer: nGPT and Euler with retraction."""

__all__ = ["Ngpt", "OnSphere"]

import math
from dataclasses import dataclass
from typing import ClassVar

from torch import nn

from vlasov.errors import InvalidValue
from vlasov.geometry import Sphere
from vlasov.transformer.norm_layers import NgptLayer, Retraction, SphereLayer, WrapLayer
from vlasov.transformer.norm_scheme import NormedScheme, NormScheme


@dataclass(frozen=True)
class Ngpt(NormedScheme):
    r"""Tokens on a sphere drawn towards the normalised branch, :math:`N(x + a c (N(F(x)) - x))`.

    The norm is RMS, without gain. `alpha` is a, fixed where the paper starts to train it; at 1 the
    branch replaces the state. Only the update of the tokens is taken over: the weights are not
    normalised.

    Raises:
        InvalidValue: for another kind of norm or one with gain, or an `alpha` that is not above 0.

    Source: Loshchilov et al., nGPT, arXiv:2410.01131, Eqs. (10) and (11).
    """

    name: ClassVar[str] = "ngpt"
    kind: str = "rms"
    gain: bool = False
    alpha: float = 0.05

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.kind != "rms" or self.gain:
            raise InvalidValue(
                f"The norm 'ngpt' is RMS without gain, which keeps tokens on a sphere, but got "
                f"kind={self.kind} and gain={str(self.gain).lower()}; drop them, or take 'post'."
            )
        if not self.alpha > 0:
            raise InvalidValue(
                f"The alpha of 'ngpt' is above 0 but is {self.alpha}; 1 replaces the state."
            )

    def build(  # noqa: D102
        self, width: int, layer: int = 0, depth: int = 1, *, residual: bool = True
    ) -> WrapLayer:
        return NgptLayer(residual, self.norm(width), self.alpha)

    def enter(self, width: int) -> nn.Module:  # noqa: D102
        return self.norm(width)


@dataclass(frozen=True)
class OnSphere(NormScheme):
    r"""Tokens on the sphere: an Euler step along the tangent part of F, and a retraction.

    `radius` is that of the sphere; 0 means :math:`\sqrt d`, where an RMS norm puts tokens.

    Raises:
        InvalidValue: for a radius below 0.

    Source: Geshkovski et al., arXiv:2312.10794, Eq. (SA), as one explicit step.
    """

    name: ClassVar[str] = "sphere"
    radius: float = 0.0

    def __post_init__(self) -> None:
        if not 0 <= self.radius < math.inf:
            raise InvalidValue(
                f"The radius of 'sphere' is above 0, or 0 for the root of the width, but is "
                f"{self.radius}; correct it."
            )

    def build(  # noqa: D102
        self, width: int, layer: int = 0, depth: int = 1, *, residual: bool = True
    ) -> WrapLayer:
        return SphereLayer(residual, self.geometry(width))

    def enter(self, width: int) -> nn.Module:  # noqa: D102
        return Retraction(self.geometry(width))

    def geometry(self, width: int) -> Sphere:
        """The sphere on which tokens of this width live."""
        return Sphere(self.radius or math.sqrt(width))

    def described(self) -> str:  # noqa: D102
        return "tokens on the sphere" + (f" of radius {self.radius:g}" if self.radius else "")
