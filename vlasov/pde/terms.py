r"""What moves a token besides attention: local reactions :math:`F(t, x_i)`, token by token.

Terms are added to the attention velocity and the sum is made tangent to the geometry. `Momentum`
is not a force but changes the order of the equation in time.
"""

__all__ = [
    "ACTIVATIONS",
    "TERMS",
    "Decay",
    "LinearTerm",
    "Momentum",
    "Perceptron",
    "RandomPerceptron",
    "Term",
]

import abc
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional

from vlasov._shapes import Points
from vlasov.catalogue import Catalogue, nearest
from vlasov.errors import InvalidValue, ShapeMismatch
from vlasov.gaussian import Affine

ACTIVATIONS: Mapping[str, Callable[[Tensor], Tensor]] = {
    "gelu": functional.gelu,
    "gelu-tanh": partial(functional.gelu, approximate="tanh"),
    "relu": functional.relu,
    "silu": functional.silu,
    "tanh": torch.tanh,
}

Force = Callable[[float | Tensor, Tensor], Tensor]


class Term(abc.ABC):
    """A local reaction; `bind` turns the description into a force for tokens like `x`."""

    name: ClassVar[str]

    @abc.abstractmethod
    def bind(self, x: Points) -> Force:
        """The force ``(t, x) -> F(t, x)`` in the width, dtype and device of `x`."""

    def affine(self, x: Points) -> Affine | None:
        """The force as an affine map in the width, dtype and device of `x`; None if it is none."""
        return None


@dataclass(frozen=True)
class Decay(Term):
    r"""The restoring force :math:`-\mathrm{rate}\; x`; a negative rate drives tokens outwards.

    Source: the ``-x`` term of spec section 0, absent from the bare equation.
    """

    name: ClassVar[str] = "decay"
    rate: float = 1.0

    def bind(self, x: Points) -> Force:
        """The force towards the origin; it needs nothing of `x`."""
        return lambda t, x: -self.rate * x

    def affine(self, x: Points) -> Affine:
        """The multiple of the identity, without offset."""
        d = x.shape[-1]
        return Affine(-self.rate * torch.eye(d).to(x), x.new_zeros(d))


@dataclass(frozen=True, eq=False)
class LinearTerm(Term):
    r"""The linear force :math:`M x`."""

    name: ClassVar[str] = "matrix"
    matrix: Float[Tensor, "d d"]

    def bind(self, x: Points) -> Force:
        """The matrix moved once to the dtype and device of `x`."""
        matrix = self.matrix.to(x)
        return lambda t, x: x @ matrix.mT

    def affine(self, x: Points) -> Affine:
        """The matrix, without offset."""
        return Affine(self.matrix.to(x), x.new_zeros(x.shape[-1]))


@dataclass(frozen=True, eq=False)
class Perceptron(Term):
    r"""A two-layer perceptron :math:`W_2\, \phi(W_1 x + b_1) + b_2`.

    Raises:
        ShapeMismatch: if the two layers do not compose to a map of R^d.
        UnknownName: for an activation outside `ACTIVATIONS`.
    """

    name: ClassVar[str] = "perceptron"
    inner: Float[Tensor, "m d"]
    outer: Float[Tensor, "d2 m2"]
    inner_bias: Float[Tensor, " m3"] | None = None
    outer_bias: Float[Tensor, " d3"] | None = None
    activation: str = "tanh"

    def __post_init__(self) -> None:
        if self.inner.shape != self.outer.mT.shape:
            raise ShapeMismatch(
                "A perceptron needs inner (m, d) and outer (d, m) but got "
                f"{tuple(self.inner.shape)} and {tuple(self.outer.shape)}; transpose one of them."
            )
        if self.activation not in ACTIVATIONS:
            raise nearest(self.activation, ACTIVATIONS, kind="activation")

    def bind(self, x: Points) -> Force:
        """Both layers moved once to the dtype and device of `x`.

        Raises:
            ShapeMismatch: if the layers act on another width than that of `x`.
        """
        if self.inner.shape[-1] != x.shape[-1]:
            raise ShapeMismatch(
                f"The perceptron acts on tokens of width {self.inner.shape[-1]} but the cloud has "
                f"width {x.shape[-1]}; build it for that width."
            )
        inner, outer = self.inner.to(x), self.outer.to(x)
        inner_bias = None if self.inner_bias is None else self.inner_bias.to(x)
        outer_bias = None if self.outer_bias is None else self.outer_bias.to(x)
        phi = ACTIVATIONS[self.activation]
        return lambda t, x: functional.linear(
            phi(functional.linear(x, inner, inner_bias)), outer, outer_bias
        )


@dataclass(frozen=True)
class RandomPerceptron(Term):
    r"""A perceptron with random weights and no biases.

    .. math:: W_1 \sim N(0, 1/d), \qquad W_2 \sim \mathrm{scale}\, N(0, 1/m)

    `hidden` is the inner width m; 0 means four times the token width.
    """

    name: ClassVar[str] = "mlp"
    hidden: int = 0
    activation: str = "tanh"
    scale: float = 1.0
    seed: int = 0

    def __post_init__(self) -> None:
        if self.hidden < 0:
            raise InvalidValue(
                "The hidden width of an mlp must be positive (0: four times d) but got "
                f"{self.hidden}."
            )
        if self.activation not in ACTIVATIONS:
            raise nearest(self.activation, ACTIVATIONS, kind="activation")

    def bind(self, x: Points) -> Force:
        """The perceptron drawn for the width of `x`; one seed and width give one force."""
        d = x.shape[-1]
        m = self.hidden or 4 * d
        generator = torch.Generator().manual_seed(self.seed)
        inner = torch.randn(m, d, generator=generator, dtype=torch.float64) / d**0.5
        outer = torch.randn(d, m, generator=generator, dtype=torch.float64) / m**0.5
        return Perceptron(inner, self.scale * outer, activation=self.activation).bind(x)


@dataclass(frozen=True)
class Momentum(Term):
    r"""Second order in time, starting from rest.

    .. math:: x' = u, \qquad u' = F(t, x) - \mathrm{damping}\, u

    On the sphere of radius r the velocity stays tangent: the covariant form adds
    :math:`-|u|^2 x / r^2`.
    Independent or common noise then acts on the velocity u.
    """

    name: ClassVar[str] = "momentum"
    damping: float = 1.0

    def bind(self, x: Points) -> Force:
        """The friction alone, as a function of the velocity u in place of the tokens."""
        return lambda t, u: -self.damping * u


TERMS: Catalogue[Term] = Catalogue("term", [Decay, RandomPerceptron, Momentum])
