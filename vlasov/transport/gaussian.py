r"""Distances between Gaussians of any rank.

.. math:: W_2^2 = |a-b|^2 + \mathrm{tr}\bigl(S + T - 2 (S^{1/2} T S^{1/2})^{1/2}\bigr)

for means a, b and covariances S, T: the Bures-Wasserstein distance. Singular and zero covariances
are welcome. Everything is real, never negative, and without cancellation near 0.

Source: spec section 5; Gelbrich, Math. Nachr. 147 (1990).
"""

__all__ = ["bures_wasserstein", "bures_wasserstein_squared", "gaussian_distance"]

from jaxtyping import Float
from torch import Tensor

from vlasov.errors import NotFinite, ShapeMismatch
from vlasov.gaussian import Gaussian
from vlasov.transport.procrustes import common_factors, squared_gap
from vlasov.transport.result import Distance
from vlasov.transport.roots import safe_root


def gaussian_distance(a: Gaussian, b: Gaussian) -> Distance:
    """W_2 between two Gaussians, with how it was obtained.

    Raises:
        ShapeMismatch: for widths that differ, or for a batch of laws.
        NotFinite: for means or covariances so large that squares overflow.
    """
    if a.batch_shape or b.batch_shape:
        raise ShapeMismatch(
            f"One distance needs one law on each side but got batches {a.batch_shape} and "
            f"{b.batch_shape}; use `bures_wasserstein`, which takes batches."
        )
    power = bures_wasserstein_squared(a, b)
    return Distance(safe_root(power), power, 2.0, "Bures-Wasserstein formula", optimal=True)


def bures_wasserstein(a: Gaussian, b: Gaussian) -> Float[Tensor, "*batch"]:
    """The distance W_2; batches broadcast. Where it is 0, so is its gradient.

    Raises:
        ShapeMismatch: for widths that differ.
        NotFinite: for means or covariances so large that squares overflow.

    Example:
        >>> round(bures_wasserstein(Gaussian(0.0, 1.0), Gaussian(3.0, 4.0)).item() ** 2, 12)
        10.0
    """
    return safe_root(bures_wasserstein_squared(a, b))


def bures_wasserstein_squared(a: Gaussian, b: Gaussian) -> Float[Tensor, "*batch"]:
    """The square of W_2; batches broadcast. First derivatives only, finite at every rank.

    Raises:
        ShapeMismatch: for widths that differ.
        NotFinite: for means or covariances so large that squares overflow.
    """
    left, right = common_factors(a, b)
    square = (a.mean - b.mean).square().sum(-1) + squared_gap(left, right)
    if not bool(square.isfinite().all()):
        largest = max(float(x.detach().abs().max()) for x in (a.mean, b.mean, left, right))
        raise NotFinite(
            f"A squared distance must be finite but overflows {square.dtype}: means or deviations "
            f"reach {largest:.3g}. Divide both laws by their scale first."
        )
    return square
