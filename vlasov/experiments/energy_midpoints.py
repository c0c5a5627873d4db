r"""Energies at the midpoints of random geodesics: contradictions to convexity, found by drawing.

A lambda-convex energy has :math:`F(m) - (F(a) + F(b))/2 \le -\frac{\lambda}{8} W(a, b)^2` at the
midpoint m of every geodesic, so each draw bounds lambda from above; a positive left side refutes
convexity. Covariances are joined by Bures-Wasserstein geodesics and clouds by displacement along
an optimal plan, both for W2 in the coordinates :math:`B^{-1/2} x`.

Source: spec section 3.2.
"""

__all__ = ["Midpoints", "cloud_midpoints", "covariance_midpoints", "midpoints_of_pair"]

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from vlasov.cloud import Cloud
from vlasov.energies import Energy, covariance_energy, covariance_preconditioner
from vlasov.energies.gradient_flow import gradient_flow
from vlasov.errors import NotFinite, Unsupported
from vlasov.gaussian import Gaussian
from vlasov.pde import TransformerPDE
from vlasov.pde.closure import require_flat
from vlasov.transport.exact import optimal_plan
from vlasov.transport.gaussian import bures_wasserstein_squared
from vlasov.transport.gaussian_path import gaussian_geodesic

_ROUNDING = 1e-9  # relative gaps below are no contradiction


@dataclass(frozen=True, eq=False)
class Midpoints:
    """Pairs joined by a geodesic: energies at both ends and in the middle, squared distances.

    `ends` are covariances ``(k, 2, d, d)`` or points ``(k, 2, n, d)``.
    """

    ends: Float[Tensor, "k 2 rows d"]
    at_ends: Float[Tensor, "k 2"]
    in_middle: Float[Tensor, " k"]
    squares: Float[Tensor, " k"]

    @property
    def gaps(self) -> Float[Tensor, " k"]:
        """The energy in the middle minus the mean of the ends."""
        return self.in_middle - self.at_ends.mean(-1)

    @property
    def relative(self) -> Float[Tensor, " k"]:
        """The gaps over the largest of the three energies."""
        size = torch.maximum(self.at_ends.abs().amax(-1), self.in_middle.abs())
        return self.gaps / torch.where(size > 0, size, 1.0)

    @property
    def worst(self) -> int:
        """The draw with the largest relative gap."""
        return int(self.relative.argmax())

    @property
    def refuted(self) -> int:
        """The number of draws that refute convexity."""
        return int((self.relative > _ROUNDING).sum())

    @property
    def bound(self) -> float:
        """The largest lambda that no draw contradicts."""
        apart = self.squares > 0
        return float((-8 * self.gaps[apart] / self.squares[apart]).min())


def midpoints_of_pair(
    pde: TransformerPDE, first: Float[Tensor, "*k d d"], second: Float[Tensor, "*k d d"]
) -> tuple[Float[Tensor, "*k"], Float[Tensor, "*k"]]:
    """The covariance energy at the midpoints of pairs of covariances, and squared distances.

    Raises:
        Unsupported: if the covariances descend no known energy.
        NotPositive: for a matrix that is no covariance.
    """
    a, b = (Gaussian(torch.zeros_like(cov[..., 0]), cov) for cov in (first, second))
    root = torch.linalg.cholesky(covariance_preconditioner(pde, a))
    inner = [
        Gaussian.of_factor(x.mean, torch.linalg.solve_triangular(root, x.factor, upper=False))
        for x in (a, b)
    ]
    middle = gaussian_geodesic(inner[0], inner[1], 0.5)
    outer = Gaussian.of_factor(middle.mean, root @ middle.factor)
    return covariance_energy(pde, outer), bures_wasserstein_squared(inner[0], inner[1])


def covariance_midpoints(
    pde: TransformerPDE, law: Gaussian, *, draws: int, seed: int
) -> Midpoints:
    r"""Midpoints between random covariances :math:`L G G^T L^T/d`, :math:`LL^T` that of the law.

    Raises:
        Unsupported: if the covariances descend no known energy.
        NotFinite: if all energies overflow.
    """
    generator = torch.Generator().manual_seed(seed)
    shape = (draws, 2, law.d, law.d)
    roots = torch.randn(shape, generator=generator, dtype=torch.float64) / law.d**0.5
    factors = law.factor.cpu().double() @ roots
    ends = factors @ factors.mT
    middle, squares = midpoints_of_pair(pde, ends[:, 0], ends[:, 1])
    at_ends = covariance_energy(pde, Gaussian(torch.zeros_like(ends[..., 0]), ends))
    return _finite(Midpoints(ends, at_ends, middle, squares))


def cloud_midpoints(
    pde: TransformerPDE, law: Gaussian, *, n: int, draws: int, seed: int
) -> Midpoints:
    """Midpoints between random clouds of `n` tokens with random covariances about the law's mean.

    Raises:
        Unsupported: if the metric of the equation depends on the cloud.
        NotFinite: if all energies overflow.
    """
    b = _constant_metric(pde, law)
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    factor = law.factor.cpu().double() @ normal(draws, 2, law.d, law.d) / law.d**0.5
    ends = law.mean.cpu().double() + normal(draws, 2, n, law.d) @ factor.mT
    inner = torch.linalg.solve_triangular(torch.linalg.cholesky(b), ends.mT, upper=False).mT
    order = torch.stack([_matching(*pair) for pair in inner])
    matched = torch.take_along_dim(ends[:, 1], order[..., None], dim=1)
    squares = (inner[:, 0] - torch.take_along_dim(inner[:, 1], order[..., None], dim=1)).square()
    value = Energy(pde)
    middle = value(Cloud((ends[:, 0] + matched) / 2))
    return _finite(Midpoints(ends, value(Cloud(ends)), middle, squares.sum(-1).mean(-1)))


def _finite(drawn: Midpoints) -> Midpoints:
    """The draws whose energies do not overflow."""
    kept = drawn.gaps.isfinite() & drawn.squares.isfinite()
    if not bool(kept.any()):
        raise NotFinite(
            f"The energies of all {len(kept)} random pairs overflow. Narrow the law at the start."
        )
    return Midpoints(
        drawn.ends[kept], drawn.at_ends[kept], drawn.in_middle[kept], drawn.squares[kept]
    )


def _constant_metric(pde: TransformerPDE, law: Gaussian) -> Tensor:
    require_flat(pde.geometry)
    flow = gradient_flow(pde, law.to(device="cpu", dtype=torch.float64))
    if flow.functionals[0].mobility != "B":
        raise Unsupported(
            f"Clouds are joined by displacement where the mobility is B, but for "
            f"'{pde.attention.name}' it is {flow.functionals[0].mobility}. Use "
            "`convexity_bound`, or the midpoints of covariances."
        )
    return flow.structure.preconditioner


def _matching(x: Tensor, y: Tensor) -> Tensor:
    """The partner of each token under an optimal plan between equal weights."""
    weights = np.full(len(x), 1 / len(x))
    costs = (x.unsqueeze(1) - y).square().sum(-1)
    plan = optimal_plan(costs.numpy(), weights, weights)
    partner = np.empty(len(x), dtype=np.int64)
    partner[plan.support.rows] = plan.support.columns
    return torch.from_numpy(partner)
