r"""Whether an equation descends an energy: A symmetric, :math:`V_h = \sigma_h B A_h`, B positive.

The preconditioner B need only exist; it is read off where the maps act, so A may be singular.
With all heads side by side, :math:`\mathcal V = B \mathcal A` has a symmetric positive definite
solution if and only if :math:`\mathcal A^T \mathcal V` is symmetric, :math:`\mathcal V` vanishes
where :math:`\mathcal A` does, and B is positive on the range of :math:`\mathcal A`. Elsewhere B is
free, and every velocity has :math:`B^{-1}\Gamma = \mathcal A \mathcal V^+ \Gamma`.

Source: spec section 3.
"""

__all__ = ["Structure", "part_of", "rounding", "structure_of", "unstructured"]

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from vlasov.errors import Unsupported


@dataclass(frozen=True, eq=False)
class Structure:
    """The signs of the heads, B, and the inverse of B, the matrix in which speeds are squared.

    Where the maps leave B free it is of the size it has elsewhere. The inverse is exact on the
    velocities that the maps allow.
    """

    signs: Float[Tensor, " h"]
    preconditioner: Float[Tensor, "d d"]
    inverse: Float[Tensor, "d d"]


def unstructured(scores: Float[Tensor, "h d d"], values: Float[Tensor, "h d d"]) -> Structure:
    """The signs of maps of any kind, with B = I."""
    eye = torch.eye(scores.shape[-1], dtype=scores.dtype, device=scores.device)
    return Structure(_signs(scores, values), eye, eye)


def _refused(condition: str, found: str) -> Unsupported:
    return Unsupported(
        f"The energy needs {condition}, but {found}. Change the maps (for one head, value = "
        "key.T @ query with query = key is enough), or watch 'diameter' or 'cluster_mass2'."
    )


def rounding(x: Tensor) -> float:
    """Relative differences that rounding of products of maps explains."""
    return 1e3 * torch.finfo(x.dtype).eps


def part_of(part: Tensor, whole: Tensor) -> float:
    """The norm of a part over that of the whole; 0 for 0/0."""
    size = float(part.detach().norm())
    return size / float(whole.detach().norm()) if size > 0 else 0.0


def structure_of(
    scores: Float[Tensor, "h d d"],
    values: Float[Tensor, "h d d"],
    *,
    drift: tuple[Float[Tensor, "d d"], Float[Tensor, "d d"]] | None = None,
    scalar: bool,
) -> Structure:
    """The signs and the inverse preconditioner of maps A and V.

    A drift ``(M, N)`` must be ``M = -sigma B N`` for the one head there is. `scalar` demands that
    B be a multiple of the identity: on a curved geometry no other one commutes with projection.

    Raises:
        Unsupported: naming the condition that fails, with the number found.
    """
    _require_symmetric_scores(scores)
    signs = _signs(scores, values)
    factors = signs[:, None, None] * scores
    if drift is not None:
        values = torch.cat([values, drift[0][None]])
        factors = torch.cat([factors, -signs[:, None, None] * drift[1]])
    if scalar:
        b = _scalar(factors, values)
        eye = torch.eye(factors.shape[-1], dtype=factors.dtype, device=factors.device)
        return Structure(signs, b * eye, eye / b)
    # side by side: (d, h d)
    return Structure(signs, *_matrices(torch.cat([*factors], -1), torch.cat([*values], -1)))


def _require_symmetric_scores(scores: Tensor) -> None:
    for head, a in enumerate(scores):
        if not bool(a.any()):
            raise _refused("A = beta K^T Q other than 0", f"A = 0 in head {head}")
        skew = part_of(a - a.mT, a)
        if skew > rounding(a):
            raise _refused(
                "a symmetric A = beta K^T Q", f"|A - A^T| is {skew:.3g} of |A| in head {head}"
            )


def _signs(scores: Tensor, values: Tensor) -> Tensor:
    """The sign of the trace of B over the range of each A, with sigma = 1."""
    slopes = values @ torch.linalg.pinv(scores, rtol=rounding(scores))
    traces = slopes.diagonal(dim1=-2, dim2=-1).sum(-1).detach()
    return torch.where(traces < 0, -1.0, 1.0).to(scores)


def _matrices(factors: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
    """B and its inverse on the velocities."""
    tolerance = rounding(factors)
    inverse_of_factors = torch.linalg.pinv(factors, rtol=tolerance)
    b = values @ inverse_of_factors
    missed = part_of(values - b @ factors, values)
    if missed > tolerance:
        raise _refused(
            "V = sigma B A with one B for all heads (for l2 also the drift -sigma B N x)",
            f"a share {missed:.3g} of V is left over",
        )
    product = factors.mT @ values
    skew = part_of(product - product.mT, product)
    if skew > tolerance:
        raise _refused("a symmetric B in V = sigma B A", f"A B A is skew by {skew:.3g}")
    _require_positive(factors, b)
    range_of_factors = factors @ inverse_of_factors
    return _completed(b, range_of_factors), factors @ torch.linalg.pinv(values, rtol=tolerance)


def _completed(b: Tensor, p: Tensor) -> Tensor:
    """The positive matrix that acts as `b` on the range of the projection `p`."""
    q = torch.eye(len(p), dtype=p.dtype, device=p.device) - p
    inside, across = p @ (b + b.mT) @ p / 2, q @ b @ p
    size = inside.trace() / p.trace()
    schur = across @ torch.linalg.pinv(inside, rtol=rounding(b)) @ across.mT
    return inside + across + across.mT + q @ (schur + size * q) @ q


def _require_positive(factors: Tensor, b: Tensor) -> None:
    """B on the range of the maps A, where alone it matters."""
    u, s, _ = torch.linalg.svd(factors.detach(), full_matrices=False)
    u = u[:, s > rounding(factors) * s[0]]
    restricted = u.mT @ b.detach() @ u
    eigenvalues = torch.linalg.eigvalsh((restricted + restricted.mT) / 2)
    if not eigenvalues[0] > rounding(b) * eigenvalues[-1]:
        raise _refused(
            "a positive definite B in V = sigma B A",
            f"B has eigenvalues from {float(eigenvalues[0]):.3g} to {float(eigenvalues[-1]):.3g}",
        )


def _scalar(factors: Tensor, values: Tensor) -> Tensor:
    b = (factors * values).sum() / factors.square().sum()
    missed = part_of(values - b * factors, values)
    if missed > rounding(factors):
        raise _refused(
            "V = sigma b A with a number b on a curved geometry",
            f"a share {missed:.3g} of V is left over",
        )
    if not bool(b > 0):
        raise _refused("b > 0 in V = sigma b A", f"b = {float(b):.3g}")
    return b
