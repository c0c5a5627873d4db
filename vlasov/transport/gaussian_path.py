r"""Optimal maps and shortest paths between Gaussians.

.. math:: T = S^{-1/2} (S^{1/2} \Sigma S^{1/2})^{1/2} S^{-1/2}, \qquad
          N\bigl((1-s) a + s b, \; M_s S M_s\bigr), \quad M_s = (1-s) I + s T

from N(a, S) to N(b, Sigma). With factors, ``T = M U L^+`` and the path has the factor
``(1-s) L + s M U``, which needs no inverse and serves every rank.

Source: spec section 5.
"""

__all__ = ["gaussian_geodesic", "gaussian_map"]

import torch

from vlasov.errors import InvalidValue, Unsupported
from vlasov.gaussian import Affine, Gaussian
from vlasov.transport.procrustes import (
    closest_rotation,
    common_factors,
    cross_product,
    rounding,
)


def gaussian_map(a: Gaussian, b: Gaussian) -> Affine:
    """The optimal map from `a` to `b`; it carries no gradient.

    Where the source is singular the map acts on its range.

    Raises:
        Unsupported: if no map carries `a` to `b`, as from fewer directions to more.
        ShapeMismatch: for widths that differ.

    Example:
        >>> gaussian_map(Gaussian(0.0, 1.0), Gaussian(0.0, 4.0)).matrix.item()
        2.0
    """
    left, right = (x.detach() for x in common_factors(a, b))
    w, s, vh = torch.linalg.svd(cross_product(left, right))
    met = s > rounding(left) * s[..., :1]
    matrix = right @ (w * met.unsqueeze(-2)) @ vh @ torch.linalg.pinv(left)
    target, reached = right @ right.mT, matrix @ left
    missed = torch.linalg.matrix_norm(reached @ reached.mT - target)
    size = torch.linalg.matrix_norm(target)
    if bool((missed > torch.finfo(s.dtype).eps ** 0.5 * size).any()):
        raise Unsupported(
            "A map needs a source that extends wherever the target does, but a share "
            f"{float((missed / size).max()):.3g} of the target's covariance is out of reach. Use "
            "`gaussian_geodesic`, or exchange the two."
        )
    moved = (matrix @ a.mean.detach().unsqueeze(-1)).squeeze(-1)
    return Affine(matrix, b.mean.detach() - moved)


def gaussian_geodesic(a: Gaussian, b: Gaussian, s: float) -> Gaussian:
    """The law at the fraction `s` of a shortest path from `a` to `b`; it carries no gradient.

    Where a law is singular there may be several shortest paths; this is one of them.

    Raises:
        InvalidValue: for `s` outside [0, 1].
        ShapeMismatch: for widths that differ.

    Example:
        >>> gaussian_geodesic(Gaussian(0.0, 1.0), Gaussian(2.0, 9.0), 0.5).cov.item()
        4.0
    """
    if not 0 <= s <= 1:
        raise InvalidValue(f"A fraction of a path is between 0 and 1 but got {s}. Clip it.")
    left, right = (x.detach() for x in common_factors(a, b))
    mean = (1 - s) * a.mean.detach() + s * b.mean.detach()
    return Gaussian.of_factor(mean, (1 - s) * left + s * right @ closest_rotation(left, right))
