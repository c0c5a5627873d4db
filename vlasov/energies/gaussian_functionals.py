r"""The energies of a Gaussian law in closed form.

With :math:`\Sigma = LL^T`, :math:`B = L^T A L`, :math:`P = L^T N L` and
:math:`u = L^T A\alpha`, an energy is sigma times

- softmax and unnormalised:
  :math:`-\frac12 \det(I - B^2)^{-1/2} e^{\alpha^T A\alpha + u^T (I - B)^{-1} u}`, finite where
  :math:`\rho(\Sigma A) < 1`
- linear: :math:`-\frac14 \mathrm{tr}(A M A M)`, :math:`M = \Sigma + \alpha\alpha^T`
- sinkhorn: :math:`-\frac12 \sum_i [a_i m_i + \frac12 \log(m_i/a_i)] - \frac12 \alpha^T A\alpha`,
  with :math:`a_i` the singular values of B and :math:`m = 2a/(1 + \sqrt{1 + 4a^2})`, A over eps
- l2 with its drift: as softmax, with 2A for A and the weights :math:`e^{-x^T N x}`, so that
  :math:`I - B` becomes :math:`I + 2P - 2B`, :math:`I + B` becomes :math:`I + 2P + 2B` and
  :math:`A\alpha` becomes :math:`2(A - N)\alpha`

The factor L is never inverted: laws of any rank have an energy. Source: spec section 3.1; the
means of softmax and l2 by :math:`(x \pm y)/\sqrt2`, independent for independent x and y.
"""

__all__ = ["GaussianView", "entropic_cost", "gaussian_functional_of"]

from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from vlasov.attention import L2, Attention, Linear, Sinkhorn, Softmax, Unnormalised
from vlasov.gaussian import Gaussian

OfHeads = Float[Tensor, "*batch h"]
Symmetric = Float[Tensor, "*batch h r r"]
Vector = Float[Tensor, "*batch h r"]


@dataclass(frozen=True, eq=False)
class GaussianView:
    """What the heads see of a Gaussian law: the laws of queries and keys, ``(*batch, h, k)``."""

    q: Gaussian
    k: Gaussian
    beta: float

    def scores(self) -> Symmetric:
        """``L^T A L``, symmetric as A is."""
        product = self.beta * self.k.factor.mT @ self.q.factor
        return (product + product.mT) / 2

    def squares(self) -> Symmetric:
        """``L^T N L``."""
        return self.beta * self.k.factor.mT @ self.k.factor

    def slope(self, seen: Gaussian) -> Vector:
        """``L^T A mean`` for the law of the queries, ``L^T N mean`` for that of the keys."""
        return self.beta * (self.k.factor.mT @ seen.mean.unsqueeze(-1)).squeeze(-1)

    def height(self, seen: Gaussian) -> OfHeads:
        """``mean^T A mean`` for the law of the queries, ``mean^T N mean`` for that of the keys."""
        return self.beta * (self.k.mean * seen.mean).sum(-1)


def _pair_exponential(
    near: Symmetric, far: Symmetric, slope: Vector, height: OfHeads
) -> Float[Tensor, "*batch h"]:
    r"""``det(near)^{-1/2} det(far)^{-1/2} exp(height + slope^T near^{-1} slope)``.

    It is infinite where either matrix is not positive definite.
    """
    widths = [torch.linalg.eigvalsh(one) for one in (near, far)]
    finite = (widths[0].amin(-1) > 0) & (widths[1].amin(-1) > 0)
    solved = torch.linalg.solve(
        torch.where(finite[..., None, None], near, torch.eye(near.shape[-1]).to(near)),
        slope.unsqueeze(-1),
    ).squeeze(-1)
    logs = [torch.where(finite[..., None], one, 1.0).log().sum(-1) for one in widths]
    value = torch.exp(height + (slope * solved).sum(-1) - (logs[0] + logs[1]) / 2)
    return torch.where(finite, value, torch.inf)


def _exponential(view: GaussianView) -> OfHeads:
    b = view.scores()
    eye = torch.eye(b.shape[-1]).to(b)
    return -_pair_exponential(eye - b, eye + b, view.slope(view.q), view.height(view.q)) / 2


def _gaussian(view: GaussianView) -> OfHeads:
    b, p = 2 * view.scores(), 2 * view.squares()
    eye = torch.eye(b.shape[-1]).to(b)
    slope = 2 * (view.slope(view.q) - view.slope(view.k))
    height = 2 * (view.height(view.q) - view.height(view.k))
    return -_pair_exponential(eye + p - b, eye + p + b, slope, height) / 2


def _quadratic(view: GaussianView) -> OfHeads:
    # tr(A M A M) for M = [L | mean] [L | mean]^T
    q, k = (torch.cat([x.factor, x.mean.unsqueeze(-1)], -1) for x in (view.q, view.k))
    scores = view.beta * k.mT @ q
    return -(scores * scores.mT).sum((-2, -1)) / 4


def _transport(view: GaussianView, eps: float) -> OfHeads:
    return entropic_cost(view, eps) - view.height(view.q) / eps / 2


def entropic_cost(view: GaussianView, eps: float) -> OfHeads:
    """Half the entropic cost of the centred law to itself, over eps."""
    widths = torch.linalg.eigvalsh(view.scores() / eps)
    shares = 2 / (1 + torch.hypot(torch.ones_like(widths), 2 * widths))  # m / a
    return -(widths.square() * shares + shares.log() / 2).sum(-1) / 2


def gaussian_functional_of(attention: Attention) -> Callable[[GaussianView], OfHeads] | None:
    """The energy of a head over sigma, as a function of the law; None where none is known."""
    match attention:
        case Softmax() | Unnormalised():
            return _exponential
        case Linear():
            return _quadratic
        case Sinkhorn():
            return lambda view: _transport(view, attention.eps)
        case L2():
            return _gaussian
        case _:
            return None
