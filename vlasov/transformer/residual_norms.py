"""The schemes that add their branch in R^d: none, pre, post, peri, mix, LN-scaling, DeepNorm."""

__all__ = ["DeepNorm", "LnScaling", "Mix", "NoNorm", "Peri", "Post", "Pre", "Sandwich"]

import math
from dataclasses import dataclass
from typing import ClassVar

from torch import nn

from vlasov.errors import InvalidValue
from vlasov.transformer.norm_layers import (
    DeepLayer,
    NoLayer,
    PeriLayer,
    PostLayer,
    PreLayer,
    WrapLayer,
)
from vlasov.transformer.norm_scheme import NormedScheme, NormScheme


@dataclass(frozen=True)
class NoNorm(NormScheme):
    r"""No norm: :math:`x + c F(x)`, one Euler step of the particle system.

    Source: Castin et al., arXiv:2501.18322, the residual layer as an Euler step.
    """

    name: ClassVar[str] = "none"

    def build(  # noqa: D102
        self, width: int, layer: int = 0, depth: int = 1, *, residual: bool = True
    ) -> WrapLayer:
        return NoLayer(residual)

    def described(self) -> str:  # noqa: D102
        return "no norm"


@dataclass(frozen=True)
class Pre(NormedScheme):
    r"""The norm before the branch, :math:`x + c F(N x)`, and once more after the last layer.

    Source: Xiong et al., On layer normalization in the Transformer architecture, arXiv:2002.04745.
    """

    name: ClassVar[str] = "pre"

    def build(  # noqa: D102
        self, width: int, layer: int = 0, depth: int = 1, *, residual: bool = True
    ) -> WrapLayer:
        return PreLayer(residual, self.norm(width))

    def leave(self, width: int) -> nn.Module:  # noqa: D102
        return self.norm(width)


@dataclass(frozen=True)
class Post(NormedScheme):
    r"""The norm after the sum, :math:`N(x + c F(x))`.

    Source: Vaswani et al., Attention is all you need (2017), section 3.1.
    """

    name: ClassVar[str] = "post"

    def build(  # noqa: D102
        self, width: int, layer: int = 0, depth: int = 1, *, residual: bool = True
    ) -> WrapLayer:
        return PostLayer(residual, self.norm(width))


@dataclass(frozen=True)
class Peri(Pre):
    r"""A norm on both sides of the branch, :math:`x + c N'(F(N x))`; also called sandwich.

    Source: Kim et al., Peri-LN, arXiv:2502.02732; Ding et al., CogView, arXiv:2105.13290.
    """

    name: ClassVar[str] = "peri"

    def build(  # noqa: D102
        self, width: int, layer: int = 0, depth: int = 1, *, residual: bool = True
    ) -> WrapLayer:
        return PeriLayer(residual, self.norm(width), self.norm(width))


@dataclass(frozen=True)
class Sandwich(Peri):
    """Another name for ``peri``."""

    name: ClassVar[str] = "sandwich"


@dataclass(frozen=True)
class Mix(Pre):
    r"""``post`` for the first share `post` of the layers, ``pre`` for the others.

    Source: Li, Yin and Liu, Mix-LN, arXiv:2412.13795.
    """

    name: ClassVar[str] = "mix"
    same_in_every_layer: ClassVar[bool] = False
    post: float = 0.25

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.post <= 1:
            raise InvalidValue(
                f"The share of post-norm layers lies between 0 and 1 but is {self.post}."
            )

    def build(  # noqa: D102
        self, width: int, layer: int = 0, depth: int = 1, *, residual: bool = True
    ) -> WrapLayer:
        kind = PostLayer if layer < self.post * depth else PreLayer
        return kind(residual, self.norm(width))


@dataclass(frozen=True)
class LnScaling(Pre):
    r"""``pre`` with branches that fade along depth, :math:`x + c F(N x)/\sqrt{1 + t_l}`.

    The time of layer l is :math:`t_l = l \cdot \mathrm{step}`, so the first layer is not scaled.

    Source: Sun et al., The curse of depth, arXiv:2502.05795, which scales the output of the norm
    (the same for values and perceptrons of degree one; the scores of attention are kept here).
    """

    name: ClassVar[str] = "ln-scaling"

    def factor(self, layer: int, step: float) -> float:  # noqa: D102
        return 1 / math.sqrt(1 + layer * step)


@dataclass(frozen=True)
class DeepNorm(NormedScheme):
    r"""``post`` with a weighted residual, :math:`N(a x + c F(x))`, :math:`a = (2L)^{1/4}`.

    At the start value, output and perceptron weights are multiplied by :math:`(8L)^{-1/4}`.

    Source: Wang et al., DeepNet, arXiv:2203.00555, Fig. 2, encoder only.
    """

    name: ClassVar[str] = "deepnorm"

    def build(  # noqa: D102
        self, width: int, layer: int = 0, depth: int = 1, *, residual: bool = True
    ) -> WrapLayer:
        return DeepLayer(residual, self.norm(width), (2 * depth) ** 0.25)

    def init_gain(self, depth: int) -> float:  # noqa: D102
        return (8 * depth) ** -0.25
