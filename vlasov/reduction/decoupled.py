r"""Covariances that split into independent eigenvalues: L2 and Sinkhorn attention in closed form.

.. math:: \Sigma(t) = R_0 U\, \mathrm{diag}(\lambda_i(t))\, U^T R_0, \qquad R_0 = \Sigma_0^{1/2}

where A and V are symmetric, V commutes with Sigma_0, A and N, and U diagonalises V,
:math:`R_0 A R_0` and :math:`R_0 N R_0` together: always in d = 1, and for V = vI with Q = cK.

Source: spec 2.6, with V commuting in place of V = I, and the means derived in the same way.
"""

__all__ = ["Decoupled", "joint_modes"]

from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor

from vlasov._roots import symmetric_root
from vlasov._shapes import Covariance
from vlasov.attention import L2, Sinkhorn
from vlasov.gaussian import Gaussian
from vlasov.reduction.cases import ClosedForm, Times
from vlasov.reduction.closed_forms import require_no_growth, rounding
from vlasov.reduction.modes import l2_log_mode, l2_mean_time, sinkhorn_log_mode

# Generic weights: distinct joint eigenvalues stay distinct in the weighted sum.
_MIXED = (1.0, 0.61803398875, 0.41421356237)


@dataclass(frozen=True, eq=False)
class Decoupled(ClosedForm):
    """L2 or Sinkhorn attention on modes that do not see each other.

    Attributes:
        member: the variant.
        start: the law.
        value: the map V.
        gap: the matrix A - N, which moves the mean under L2.
        basis: the columns of ``R_0 U``.
        rates: the eigenvalues v of V, D of ``R_0 A R_0`` and nu of ``R_0 N R_0``.
    """

    case: ClassVar[str] = "A and V are symmetric, commute with the rest and split into modes"
    member: L2 | Sinkhorn
    start: Gaussian
    value: Tensor
    gap: Tensor
    basis: Tensor
    rates: tuple[Tensor, Tensor, Tensor]

    def at(self, t: Times) -> Gaussian:
        """The modes by their implicit equations; the mean by the modes."""
        v, d, nu = self.rates
        time = t.unsqueeze(-1)
        if isinstance(self.member, Sinkhorn):
            eps = self.member.eps
            logs = sinkhorn_log_mode(v, d, time, eps)
            mean = self._moved(t / eps, self.start.mean)
        else:
            logs = l2_log_mode(v, d, nu, time)
            mean = self._moved(t, self._mean(l2_mean_time(v, nu, time, logs), d - nu))
        return Gaussian.of_factor(mean, self.basis * torch.exp(logs / 2).unsqueeze(-2))

    def _mean(self, times: Tensor, slopes: Tensor) -> Tensor:
        """The mean without exp(tV): along a mode ``z' = 2v lambda/(1 + 2nu lambda) (c + sz)``."""
        exponent = slopes * times
        growth = torch.where(
            exponent == 0, 1.0, torch.expm1(exponent) / torch.where(exponent == 0, 1.0, exponent)
        )
        mean = self.start.mean.unsqueeze(-1)
        pull = (self.basis.mT @ self.gap @ mean).squeeze(-1)
        return (mean + self.basis @ (pull * times * growth).unsqueeze(-1)).squeeze(-1)

    def _moved(self, t: Tensor, mean: Tensor) -> Tensor:
        drift = torch.linalg.matrix_exp(t[..., None, None] * self.value)
        return (drift @ mean.unsqueeze(-1)).squeeze(-1)

    def blow_up_time(self) -> Times:
        """Never: log lambda is bounded by a multiple of t."""
        return torch.full_like(self.start.mean[..., 0], torch.inf)

    def limit(self) -> Covariance:
        """The modes that stay: those with vD = 0; the others have vD < 0 and vanish."""
        growth = self.rates[0] * self.rates[1]
        floor = rounding(growth) * growth.abs().amax(-1, keepdim=True)
        require_no_growth(growth > floor, growth)
        kept = self.basis * (growth >= -floor).to(growth).unsqueeze(-2)
        return kept @ kept.mT


def joint_modes(
    cov: Covariance,
    value: Float[Tensor, "*#batch d d"],
    score: Float[Tensor, "*#batch d d"],
    squares: Float[Tensor, "*#batch d d"],
) -> tuple[Tensor, tuple[Tensor, Tensor, Tensor], Tensor]:
    """The basis ``R_0 U``, the eigenvalues (v, D, nu), and what is left off the diagonals.

    The last is relative to the matrices and without unit: rounding where the modes exist.
    """
    root = symmetric_root(cov)
    matrices = [value, root @ score @ root, root @ squares @ root]
    scaled = [_scaled(m) for m in matrices]
    mixed = sum((w * m for w, m in zip(_MIXED[1:], scaled[1:], strict=True)), scaled[0])
    _, u = torch.linalg.eigh((mixed + mixed.mT) / 2)
    turned = [u.mT @ m @ u for m in matrices]
    diagonals = [m.diagonal(dim1=-2, dim2=-1) for m in turned]
    left = [
        torch.linalg.matrix_norm(_scaled(m) - torch.diag_embed(_scaled(m).diagonal(0, -2, -1)))
        for m in turned
    ]
    return root @ u, (diagonals[0], diagonals[1], diagonals[2]), torch.stack(left).amax(0)


def _scaled(matrix: Tensor) -> Tensor:
    size = torch.linalg.matrix_norm(matrix, keepdim=True)
    return matrix / torch.where(size > 0, size, 1.0)
