r"""Bounds from above on the convexity of an energy in the metric of its equation.

An energy that is lambda-convex along geodesics has :math:`D' \le -2\lambda D` along the flow, so

.. math:: \lambda \le -\frac12 \frac{d}{dt} \log D

at every cloud: where the dissipation grows the energy is not convex. On clouds of one token the
metric is :math:`m(x) B^{-1}` on R^d, and the eigenvalues of the Hessian of F in that metric bound
lambda along its geodesics. That these are geodesics among all measures holds where m = 1, by
translation of one token, and is not shown where m depends on the law.

Source: spec section 3.2, recipes 1 and 2.
"""

__all__ = ["convexity_bound", "one_token_curvature"]

import torch
from jaxtyping import Float
from torch import Tensor

from vlasov._shapes import Points
from vlasov.cloud import Cloud
from vlasov.energies.energy import Dissipation, Energy, cloud_views
from vlasov.energies.gradient_flow import gradient_flow
from vlasov.pde import TransformerPDE, velocity
from vlasov.pde.closure import require_flat


def convexity_bound(pde: TransformerPDE, cloud: Cloud) -> Float[Tensor, "*batch"]:
    """The rate ``-(1/2) d log D / dt`` at a cloud, which lambda does not exceed.

    It is infinite, no bound, where nothing moves. Times are in layers × step.

    Raises:
        Unsupported: if the equation has no energy, naming the condition that fails.
        NotOnGeometry: if the cloud is not on the geometry.

    Example:
        >>> round(convexity_bound(TransformerPDE("linear"), Cloud([[2.0]])).item(), 6)
        -12.0
    """
    pde.geometry.check(cloud.points)
    with torch.enable_grad():
        x = cloud.points.detach().clone().requires_grad_()
        moved = cloud.with_points(x)
        rate = Dissipation(pde)(moved)
        (slope,) = torch.autograd.grad(rate.sum(), x)
    speed = velocity(pde, cloud).detach()
    growth = (slope * speed).sum((-2, -1))
    moving = rate.detach() > 0
    return torch.where(moving, -growth / (2 * torch.where(moving, rate.detach(), 1.0)), torch.inf)


def one_token_curvature(pde: TransformerPDE, x: Points) -> Points:
    r"""Eigenvalues, smallest first, of the Hessian of F on clouds of one token, at each point.

    .. math:: \mathrm{Hess}_{ij} = \partial_i\partial_j F - \tfrac12 (\varphi_i \partial_j F +
              \varphi_j \partial_i F - B^{-1}_{ij} \langle \varphi, B \nabla F\rangle), \qquad
              \varphi = \nabla \log m

    Raises:
        Unsupported: on a curved geometry, or if the equation has no energy.

    Example:
        >>> one_token_curvature(TransformerPDE("unnormalised"), torch.zeros(1, 1)).item()
        -1.0
    """
    require_flat(pde.geometry)
    pde = pde.replace(engine="dense")  # second derivatives pass through plain sums only
    with torch.enable_grad():
        points = x.detach().clone().requires_grad_()
        cloud = Cloud(points.unsqueeze(-2))
        slope = _gradient(Energy(pde)(cloud), points, again=True)
        rows = [_gradient(slope[..., i], points, again=True) for i in range(x.shape[-1])]
        flow = gradient_flow(pde, cloud)
        log_metric = flow.functionals[0].log_metric(cloud_views(flow, cloud)[0])[..., 0, 0]
        phi = _gradient(log_metric, points)
    b = flow.structure.preconditioner.detach()
    hessian = _covariant(torch.stack(rows, -2).detach(), slope.detach(), phi, b)
    # m B^{-1} is the metric: the eigenvalues of B^{1/2} Hess B^{1/2} / m
    root = torch.linalg.cholesky(b)
    scaled = root.mT @ hessian @ root * torch.exp(-log_metric.detach())[..., None, None]
    return torch.linalg.eigvalsh(scaled)


def _covariant(hessian: Tensor, slope: Tensor, phi: Tensor, b: Tensor) -> Tensor:
    across = phi.unsqueeze(-1) * slope.unsqueeze(-2)
    along = ((phi @ b) * slope).sum(-1)[..., None, None]
    bent = across + across.mT - along * torch.linalg.inv(b)
    return (hessian + hessian.mT) / 2 - bent / 2


def _gradient(value: Tensor, x: Tensor, *, again: bool = False) -> Tensor:
    """The gradient of a sum over the points; 0 of a constant."""
    if not value.requires_grad:
        return torch.zeros_like(x)
    (slope,) = torch.autograd.grad(value.sum(), x, create_graph=again)
    return slope
