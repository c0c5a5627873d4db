r"""Softmax covariances in closed form, for any rank and batch.

.. math:: \Sigma(t) = L_0 (I - L_0^T J(t) L_0)^{-1} L_0^T, \qquad \Sigma_0 = L_0 L_0^T

With V = I, J is the integral of :math:`A + A^T`, whatever its dependence on time; with V = vI it
is the integral of :math:`v (A + A^T)`. Where V is symmetric and commutes with the covariance and
with :math:`S = VA + A^T V^T`, it is the integral of S. Everything ends where J first makes
:math:`L_0^T J L_0` reach the eigenvalue 1.

Source: spec 2.2, 2.3.
"""

__all__ = [
    "softmax_blow_up_time",
    "softmax_factor",
    "softmax_flow",
    "softmax_limit",
    "softmax_limit_factor",
]

import torch
from jaxtyping import Float
from torch import Tensor

from vlasov._shapes import Covariance
from vlasov.errors import InvalidValue

Factor = Float[Tensor, "*#batch d r"]
Square = Float[Tensor, "*#batch d d"]


def rounding(x: Tensor) -> float:
    """Relative size of what rounding of a few products of matrices leaves."""
    return 1e3 * torch.finfo(x.dtype).eps


def past_the_end(t: float, end: float) -> InvalidValue:
    """The error for a time at or past the end of a solution."""
    return InvalidValue(
        f"A solution is wanted at t = {t:.10g} but it ends at t* = {end:.10g}; ask for a time "
        "before it."
    )


def pulled_back(factor: Factor, matrix: Square) -> tuple[Tensor, Tensor]:
    """Eigenvalues and eigenvectors of ``L^T M L`` for the symmetric part of M."""
    inner = factor.mT @ (matrix @ factor)
    return torch.linalg.eigh((inner + inner.mT) / 2)


def softmax_factor(factor: Factor, growth: Square) -> Float[Tensor, "*batch d r"]:
    r"""A factor of :math:`L_0 (I - L_0^T J L_0)^{-1} L_0^T`.

    Args:
        factor: the factor L_0 of the start.
        growth: the symmetric matrix J, an integral over time.

    Raises:
        InvalidValue: at or past the blow-up, where an eigenvalue of ``L_0^T J L_0`` reaches 1.
    """
    values, vectors = pulled_back(factor, growth)
    left = 1 - values
    if bool((left <= 0).any()):
        raise InvalidValue(
            "The covariance exists while all eigenvalues of L^T J L are below 1 but the largest "
            f"is {float(values.max()):.6g}; ask for earlier times."
        )
    return factor @ (vectors * left.rsqrt().unsqueeze(-2)) @ vectors.mT


def softmax_blow_up_time(factor: Factor, rate: Square) -> Float[Tensor, "*batch"]:
    r"""The time :math:`1/\lambda_{\max}(L_0^T S L_0)` for J = tS; infinite where there is none.

    Example:
        >>> one = torch.ones(1, 1, dtype=torch.float64)
        >>> softmax_blow_up_time(one, 2 * one).item()
        0.5
    """
    values, _ = pulled_back(factor, rate)
    top = values[..., -1]
    grows = top > rounding(values) * values.abs().amax(-1)
    return torch.where(grows, 1 / torch.where(grows, top, 1.0), torch.inf)


def softmax_limit(factor: Factor, rate: Square) -> Covariance:
    r"""The limit :math:`L_0 \Pi L_0^T` for J = tS, with Pi the projection on ker(L_0^T S L_0).

    For a covariance of full rank it is :math:`E (E^T \Sigma_0^{-1} E)^{-1} E^T` with E a basis of
    the kernel of S. Eigenvalues below the rounding of the largest one count as 0.

    Raises:
        InvalidValue: where a positive eigenvalue lets the covariance blow up.
    """
    kept = softmax_limit_factor(factor, rate)
    return kept @ kept.mT


def softmax_limit_factor(factor: Factor, rate: Square) -> Float[Tensor, "*batch d r"]:
    r"""The factor :math:`L_0 \Pi` of `softmax_limit`.

    Raises:
        InvalidValue: where a positive eigenvalue lets the covariance blow up.
    """
    values, vectors = pulled_back(factor, rate)
    floor = rounding(values) * values.abs().amax(-1, keepdim=True)
    require_no_growth(values > floor, values)
    stays = (values >= -floor).to(values).unsqueeze(-2)
    return factor @ (vectors * stays) @ vectors.mT


def require_no_growth(grows: Tensor, rates: Tensor) -> None:
    """Refuse a limit where an eigenvalue grows.

    Raises:
        InvalidValue: with the largest rate.
    """
    if bool(grows.any()):
        raise InvalidValue(
            f"A limit exists where no eigenvalue grows but one does, at rate "
            f"{float(rates[grows].max()):.6g}; ask for the blow-up time or for a finite time."
        )


def softmax_flow(
    factor: Factor, score: Square, t: Float[Tensor, "*#batch"]
) -> Float[Tensor, "*batch d d"]:
    r"""The map X(t) of :math:`X' = \Sigma C X`, X(0) = I, for symmetric C = VA.

    .. math:: X = I + L_0\, \varphi(L_0^T C L_0)\, L_0^T C, \qquad
              \varphi(\delta) = \frac{(1 - 2t\delta)^{-1/2} - 1}{\delta}
                              = \frac{2t}{s(1+s)}, \quad s = \sqrt{1 - 2t\delta}

    Then :math:`\Sigma = X \Sigma_0 X^T`; with V = vI a token moves to
    :math:`e^{vt} X \alpha_0 + X (x_0 - \alpha_0)`. No inverse, so any rank.

    Raises:
        InvalidValue: at or past the blow-up.
    """
    values, vectors = pulled_back(factor, score)
    time = t.unsqueeze(-1)
    s = torch.sqrt(1 - 2 * time * values)
    weights = 2 * time / (s * (1 + s))
    if not bool(weights.isfinite().all()):
        raise InvalidValue(
            "The flow map exists while 2 t lambda_max(L^T C L) < 1 but it is "
            f"{float((2 * time * values).max()):.6g}; ask for earlier times."
        )
    spread = factor @ (vectors * weights.unsqueeze(-2)) @ (vectors.mT @ factor.mT)
    eye = torch.eye(score.shape[-1], dtype=spread.dtype, device=spread.device)
    return eye + spread @ score
