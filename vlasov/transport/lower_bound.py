r"""A lower bound of W_2 from means and covariances alone.

.. math:: W_2(\mu, \nu) \ge W_2\bigl(N(m_\mu, \Sigma_\mu), N(m_\nu, \Sigma_\nu)\bigr)

with equality for Gaussians, and for any two laws of which one is an affine image of the other
under a symmetric positive semi-definite matrix. It costs order n, and its statistical error does
not grow with the dimension as that of W_2 does.

Source: Gelbrich, Math. Nachr. 147 (1990), Theorem 2.1; spec section 5.
"""

__all__ = ["gelbrich", "moments"]

import dataclasses

import torch

from vlasov.cloud import Cloud
from vlasov.gaussian import Gaussian
from vlasov.observables.moments import covariance, mean
from vlasov.transport.gaussian import gaussian_distance
from vlasov.transport.result import Distance


def gelbrich(a: Cloud | Gaussian, b: Cloud | Gaussian) -> Distance:
    """The lower bound of W_2 by the moments of both laws, in fp64, with gradients.

    Raises:
        ShapeMismatch: for laws of different widths, or a batch.
        NotFinite: for points that are not finite.

    Example:
        >>> gelbrich(Cloud([[0.0], [2.0]]), Cloud([[4.0], [4.0]])).power.item()
        10.0
    """
    left, right = (one if isinstance(one, Gaussian) else moments(one) for one in (a, b))
    double = [law.to(device="cpu", dtype=torch.float64) for law in (left, right)]
    found = gaussian_distance(*double)
    method = "Gelbrich lower bound from the moments"
    exact = isinstance(a, Gaussian) and isinstance(b, Gaussian)
    return dataclasses.replace(found, method=method, optimal=exact)


def moments(cloud: Cloud) -> Gaussian:
    """The Gaussian with the mean and the covariance of a cloud, as a measure: over n, not n - 1.

    Raises:
        NotFinite: for points that are not finite.
    """
    wide = cloud.to(dtype=torch.promote_types(cloud.points.dtype, torch.float64))
    return Gaussian(mean(wide), covariance(wide))
