r"""How far a Gaussian law is from one whose covariance stays.

.. math:: \Sigma = LL^T \text{ stays} \iff \sum_h V_h L B_h = L W, \quad W + W^T = 0

with :math:`B = L^T A L` (softmax), :math:`2(I + 2L^T N L)^{-1} L^T A L` (L2) and
:math:`h(L^T A L/\varepsilon)/\varepsilon` (Sinkhorn). Linear attention does to the second moment
what softmax does to the covariance.

Source: spec 2.1, 2.3.
"""

__all__ = ["covariance_velocity", "stationarity"]

import torch
from jaxtyping import Float
from torch import Tensor

from vlasov._shapes import Covariance
from vlasov.attention import L2, Attention, Linear, Sinkhorn, Softmax
from vlasov.errors import InvalidValue, Unsupported
from vlasov.gaussian import Gaussian
from vlasov.pde import TransformerPDE
from vlasov.reduction.heads import Heads, heads_of


def covariance_velocity(pde: TransformerPDE, gaussian: Gaussian) -> Covariance:
    r"""The matrix :math:`\Sigma' = G\Sigma + \Sigma G^T` of a bare equation.

    Raises:
        Unsupported: for a variant that does not keep Gaussians Gaussian, or an equation with more
            than constant maps.

    Example:
        >>> covariance_velocity(TransformerPDE(), Gaussian(0.0, 1.0)).item()
        2.0
    """
    heads = heads_of(pde, gaussian.mean)
    pulls = [_pull(heads, h, gaussian) for h in range(len(heads.members))]
    total = sum(pulls[1:], pulls[0])
    half = total @ gaussian.factor.mT
    return half + half.mT


def stationarity(pde: TransformerPDE, gaussian: Gaussian) -> Float[Tensor, "*batch"]:
    r"""The residual :math:`|\Sigma'|_F` over the largest speed that maps of these norms allow.

    .. math:: 2 |\Sigma| \sum_h |V_h|\, b_h, \qquad b_h = |A||\Sigma| \text{ (softmax)}, \quad
              2|(I + 2L^T N L)^{-1} L^T| |A| |L| \text{ (L2)}, \quad
              m(|A||\Sigma|/\varepsilon)/\varepsilon \text{ (Sinkhorn)}

    in spectral norms. It has no unit: 0 for a stationary covariance, of order 1 for a generic one,
    and 0 where nothing moves at all.

    Raises:
        Unsupported: as `covariance_velocity`.
    """
    heads = heads_of(pde, gaussian.mean)
    speed = torch.linalg.matrix_norm(covariance_velocity(pde, gaussian))
    sizes = [_size(heads, h, gaussian) for h in range(len(heads.members))]
    scale = 2 * _norm(gaussian.cov) * sum(sizes[1:], sizes[0])
    return torch.where(scale > 0, speed / torch.where(scale > 0, scale, 1.0), 0.0)


def transport_factor(matrix: Float[Tensor, "*batch r r"]) -> Float[Tensor, "*batch r r"]:
    r"""The matrix :math:`h(M) = 2 [I + (I + 4MM^T)^{1/2}]^{-1} M` of the Sinkhorn coupling."""
    u, s, vh = torch.linalg.svd(matrix)
    return (u * transport_mode(s).unsqueeze(-2)) @ vh


def transport_mode(a: Tensor) -> Tensor:
    """The function ``m(a) = 2a / (1 + sqrt(1 + 4a^2))``, odd and below 1."""
    return 2 * a / (1 + torch.sqrt(1 + 4 * a.square()))


def _pull(heads: Heads, h: int, gaussian: Gaussian) -> Tensor:
    """What one head adds to the velocity ``G L`` of the factor."""
    member, factor = heads.members[h], gaussian.factor
    value, score = heads.value[..., h, :, :], heads.score[..., h, :, :]
    if isinstance(member, Linear):
        return value @ _second_moment(gaussian) @ score @ factor
    inner = factor.mT @ score @ factor
    return value @ factor @ _seen(member, inner, factor, heads.squares[..., h, :, :])


def _seen(member: Attention, inner: Tensor, factor: Tensor, squares: Tensor) -> Tensor:
    if isinstance(member, Softmax):
        return inner
    if isinstance(member, L2):
        return 2 * torch.linalg.solve(_widened(factor, squares), inner)
    if isinstance(member, Sinkhorn):
        return transport_factor(inner / member.eps) / member.eps
    raise Unsupported(
        f"Attention '{member.name}' does not keep Gaussians Gaussian, so no covariance equation "
        "exists; take softmax, l2, sinkhorn or linear, or simulate a cloud."
    )


def _widened(factor: Tensor, squares: Tensor) -> Tensor:
    eye = torch.eye(factor.shape[-1], dtype=factor.dtype, device=factor.device)
    widened = eye + 2 * factor.mT @ squares @ factor
    lowest = float(torch.linalg.eigvalsh(widened).min())
    if lowest <= 0:
        raise InvalidValue(
            "L2 attention on a Gaussian needs I + 2 L^T N L positive but its lowest eigenvalue is "
            f"{lowest:.6g}, so the average diverges; raise beta or narrow the law."
        )
    return widened


def _second_moment(gaussian: Gaussian) -> Tensor:
    return gaussian.cov + gaussian.mean.unsqueeze(-1) * gaussian.mean.unsqueeze(-2)


def _norm(matrix: Tensor) -> Tensor:
    return torch.linalg.matrix_norm(matrix, ord=2)


def _size(heads: Heads, h: int, gaussian: Gaussian) -> Tensor:
    """The product ``|V| b`` of one head."""
    member, factor = heads.members[h], gaussian.factor
    value, score = _norm(heads.value[..., h, :, :]), _norm(heads.score[..., h, :, :])
    if isinstance(member, Linear):
        return value * score * _norm(_second_moment(gaussian))
    if isinstance(member, L2):
        narrowed = torch.linalg.solve(_widened(factor, heads.squares[..., h, :, :]), factor.mT)
        return value * 2 * _norm(narrowed) * score * _norm(factor)
    strength = score * _norm(gaussian.cov)
    if isinstance(member, Sinkhorn):
        return value * transport_mode(strength / member.eps) / member.eps
    return value * strength
