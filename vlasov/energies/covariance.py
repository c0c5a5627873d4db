r"""The energies that covariances descend, each a gradient flow of the Bures-Wasserstein distance.

.. math:: \Sigma' = -2\,(B\,\nabla f(\Sigma)\,\Sigma + \Sigma\,\nabla f(\Sigma)\,B)

With A symmetric and :math:`V = \sigma B A`, f is sigma times

- softmax, and linear for centred laws: :math:`-\frac14 \mathrm{tr}(A \Sigma A \Sigma)`
- sinkhorn: :math:`-\frac12 \sum_i [a_i m_i + \frac12 \log(m_i/a_i)]`, :math:`a_i` the singular
  values of :math:`\Sigma^{1/2} A \Sigma^{1/2}/\varepsilon`,
  :math:`m = 2a/(1 + \sqrt{1 + 4a^2})`
- l2 without drift, where A = c N:
  :math:`-c^2[\frac12 \mathrm{tr}(N\Sigma) - \frac14 \log\det(I + 2 \Sigma N)]`

Under B the distance is that of :math:`B^{-1/2}x`. Softmax covariances thus descend an energy
without the metric that depends on the law; for l2 the condition A = c N is necessary, too.

Source: spec section 3.1.
"""

__all__ = ["covariance_energy", "covariance_preconditioner", "covariance_velocity"]

import torch
from jaxtyping import Float
from torch import Tensor

from vlasov._shapes import Covariance
from vlasov.attention import L2, Attention, Linear, Sinkhorn, Softmax
from vlasov.energies.gaussian_energy import seen_by_heads
from vlasov.energies.gaussian_functionals import GaussianView, entropic_cost
from vlasov.energies.gradient_flow import constant_maps, members_of, refused
from vlasov.energies.structure import Structure, part_of, rounding, structure_of
from vlasov.errors import NotFinite
from vlasov.gaussian import Gaussian
from vlasov.pde import TransformerPDE
from vlasov.pde.closure import require_flat

OfHeads = Float[Tensor, "*batch h"]


def covariance_energy(pde: TransformerPDE, law: Gaussian) -> Float[Tensor, "*batch"]:
    """The energy f of the covariance of a law; the mean has no part in it.

    Raises:
        Unsupported: if no such energy is known, naming the condition that fails.
        NotFinite: for l2 with beta < 0, if the velocity diverges on the law.

    Example:
        >>> round(covariance_energy(TransformerPDE(), Gaussian(0.0, 2.0)).item(), 6)
        -1.0
    """
    structure, maps = _structure(pde, law), constant_maps(pde, law)
    view = seen_by_heads(maps, law, beta=pde.beta)
    total = torch.zeros_like(law.factor[..., 0, 0])
    for head, member in enumerate(members_of(pde.attention, heads=maps.heads)):
        total = total + structure.signs[head] * _value(member, view)[..., head]
    if not bool(total.isfinite().all()):
        raise NotFinite(
            "The energy of a covariance under l2 attention needs I + 2 Sigma N positive, which "
            f"beta = {pde.beta:g} breaks for this law. Narrow the law or raise beta."
        )
    return total


def covariance_velocity(pde: TransformerPDE, law: Gaussian) -> Covariance:
    """Sigma' along the gradient flow of the energy f, by automatic differentiation.

    Raises:
        Unsupported: if no such energy is known, naming the condition that fails.
        NotFinite: for l2 with beta < 0, if the velocity diverges on the law.
    """
    factor = law.factor.detach()
    with torch.enable_grad():
        x = factor.clone().requires_grad_()
        value = covariance_energy(pde, Gaussian.of_factor(law.mean.detach(), x))
        (slope,) = torch.autograd.grad(value.sum(), x)
    # by the factor L of Sigma the derivative is 2 grad f L
    half = -covariance_preconditioner(pde, law) @ slope @ factor.mT
    return half + half.mT


def covariance_preconditioner(pde: TransformerPDE, law: Gaussian) -> Float[Tensor, "d d"]:
    """The matrix B of the metric.

    Raises:
        Unsupported: if the covariances descend no known energy.
    """
    return _structure(pde, law).preconditioner


def _structure(pde: TransformerPDE, law: Gaussian) -> Structure:
    require_flat(pde.geometry)
    now = constant_maps(pde, law)
    if pde.terms:
        raise refused(f"the term '{pde.terms[0].name}'", "ask for it without terms")
    maps, members = now.maps(), members_of(pde.attention, heads=now.heads)
    scores = pde.beta * maps["key"].mT @ maps["query"]
    structure = structure_of(scores, maps["value"], scalar=False)
    squares = pde.beta * maps["key"].mT @ maps["key"]
    for head, member in enumerate(members):
        _require_known(member, law)
        if isinstance(member, L2):
            _require_multiple(scores[head], squares[head])
    return structure


def _require_known(member: Attention, law: Gaussian) -> None:
    if not isinstance(member, Softmax | Linear | Sinkhorn | L2):
        raise refused(
            f"the attention '{member.name}' on covariances", "take softmax, linear, sinkhorn or l2"
        )
    if isinstance(member, Linear) and bool(law.mean.any()):
        raise refused(
            f"linear attention on covariances about a mean of size {law.mean.norm():.3g}",
            "centre the law, or ask for `energy`, which its second moment descends",
        )


def _require_multiple(a: Tensor, n: Tensor) -> None:
    missed = part_of(a - (a * n).sum() / n.square().sum() * n, a)
    if missed > rounding(a):
        raise refused(
            f"l2 attention on covariances where A = beta K^T Q is no multiple of N = beta K^T K "
            f"(by {missed:.3g})",
            "take query = c key",
        )


def _value(member: Attention, view: GaussianView) -> OfHeads:
    match member:
        case Sinkhorn():
            return entropic_cost(view, member.eps)
        case L2():
            return _logarithmic(view)
        case _:
            return -view.scores().square().sum((-2, -1)) / 4


def _logarithmic(view: GaussianView) -> OfHeads:
    """``-c^2 [tr(N Sigma) / 2 - log det(I + 2 Sigma N) / 4]`` with c from A = c N."""
    b, p = view.scores(), view.squares()
    size = p.square().sum((-2, -1))
    c = (b * p).sum((-2, -1)) / torch.where(size > 0, size, 1.0)
    widths = torch.linalg.eigvalsh(p)
    # log1p turns to NaN where the velocity diverges
    return -(c**2) * (widths / 2 - torch.log1p(2 * widths) / 4).sum(-1)
