r"""The energy of each variant and the metric in which its equation descends.

With :math:`A = \beta K^T Q` symmetric and :math:`V = \sigma B A`, sigma = +1 or -1, the energy of
a head is sigma times

- softmax and unnormalised: :math:`-\frac12 \iint e^{x^T A y}`
- linear: :math:`-\frac14 \iint (x^T A y)^2`
- sigmoid: :math:`-\frac12 \iint \log(1 + e^{x^T A y + b})`
- sinkhorn: :math:`\frac12 (\int f + \int g)` with the potentials f and g of the kernel
- l2 with its drift: :math:`-\frac12 \iint E(x, y)`, :math:`E = e^{2x^T A y - x^T N x - y^T N y}`

and the dissipation is :math:`\int m(x) \langle B^{-1}\Gamma, \Gamma\rangle d\mu` with the metric
:math:`m = \int e^{x^T A y} \mu(dy)` for softmax, :math:`2 \int E(x, y) \mu(dy)` for l2, and 1 for
the others. Sums that do not factorise go through the engine of the equation: memory of order n.

Source: spec section 3.
"""

__all__ = ["Functional", "View", "functional_of"]

import abc
import math
from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import softplus

from vlasov._shapes import KeyLogits, Keys, Queries
from vlasov.attention import L2, Attention, Linear, Sigmoid, Sinkhorn, Softmax, Unnormalised
from vlasov.engines import Engine

OfHeads = Float[Tensor, "*batch h"]
OfTokens = Float[Tensor, "*batch h n"]


@dataclass(frozen=True, eq=False)
class View:
    """What the heads see of a cloud: queries and keys ``(*batch, h, n, k)``, log weights."""

    q: Queries
    k: Keys
    log_w: KeyLogits
    beta: float
    engine: Engine

    def mean(self, of_tokens: OfTokens) -> OfHeads:
        """The average over the cloud of a number per token."""
        return (self.log_w.exp() * of_tokens).sum(-1)

    def exponential_mean(self, logs: OfTokens) -> OfHeads:
        """The average of exponentials, for which single ones may overflow at tiny weights."""
        return torch.logsumexp(logs + self.log_w, dim=-1).exp()


class Functional(abc.ABC):
    """The energy of one variant over sigma, head by head, and the logarithm of its metric."""

    several_heads: ClassVar[bool] = True
    """Whether the energies of heads add up."""

    mobility: ClassVar[str] = "B"
    """What multiplies minus the gradient of the first variation to give the velocity."""

    @abc.abstractmethod
    def value(self, view: View) -> OfHeads:
        """The energy of each head for sigma = 1."""

    def log_metric(self, view: View) -> OfTokens:
        """The logarithm of what multiplies a squared speed in the dissipation."""
        return torch.zeros_like(view.q[..., 0])


class _Exponential(Functional):
    def logs(self, view: View) -> OfTokens:
        return view.engine.log_sum(view.beta * view.q, view.k, view.log_w)

    def value(self, view: View) -> OfHeads:
        return -view.exponential_mean(self.logs(view)) / 2


class _Normalised(_Exponential):
    several_heads = False  # each head would bring a metric of its own
    mobility = "B / Z(x), Z(x) = ∫ exp(y·Ax) dμ(y)"

    def log_metric(self, view: View) -> OfTokens:
        return self.logs(view)


class _Gaussian(_Exponential):
    several_heads = False
    mobility = "B / m(x), m(x) = 2 ∫ exp(2 y·Ax - x·Nx - y·Ny) dμ(y)"

    def logs(self, view: View) -> OfTokens:
        # Exact for any centre c: 2xAy - xNx - yNy in x - c and y - c, plus terms in (A - N) c.
        # Far from the origin the squares themselves would swamp the differences.
        c_q = view.beta * view.q.detach().mean(-2, keepdim=True)
        c_k = view.k.detach().mean(-2, keepdim=True)
        q, k = view.beta * view.q - c_q, view.k - c_k
        slopes = 2 * ((q - view.beta * k) * c_k).sum(-1) - view.beta * k.square().sum(-1)
        constant = 2 * ((c_q - view.beta * c_k) * c_k).sum(-1)
        return view.engine.log_sum(2 * q, k, view.log_w + slopes) + slopes + constant

    def log_metric(self, view: View) -> OfTokens:
        return self.logs(view) + math.log(2)


class _Quadratic(Functional):
    def value(self, view: View) -> OfHeads:
        w = view.log_w.exp().unsqueeze(-1)
        queries, keys = (w * view.q).mT @ view.q, (w * view.k).mT @ view.k
        return -(view.beta**2) * (queries * keys).sum((-2, -1)) / 4


@dataclass(frozen=True)
class _Softplus(Functional):
    bias: float

    def value(self, view: View) -> OfHeads:
        rows = view.engine.pair_sum(
            lambda score: softplus(score + self.bias),
            view.beta * view.q,
            view.k,
            torch.ones_like(view.k[..., :1]),
            view.log_w,
        )
        return -view.mean(rows.squeeze(-1)) / 2


@dataclass(frozen=True)
class _Transport(Functional):
    attention: Sinkhorn

    def value(self, view: View) -> OfHeads:
        f, g = self.attention.potentials(view.q, view.k, view.log_w, view.engine, beta=view.beta)
        return view.mean(f + g) / 2


def functional_of(attention: Attention) -> Functional | None:
    """The functional of a variant; None where none is known."""
    match attention:
        case Softmax():
            return _Normalised()
        case Unnormalised():
            return _Exponential()
        case Linear():
            return _Quadratic()
        case Sigmoid():
            return _Softplus(attention.bias)
        case Sinkhorn():
            return _Transport(attention)
        case L2():
            return _Gaussian()
        case _:
            return None
