r"""The distance W_2 of a cloud on the line to a Gaussian, exactly.

.. math:: W_2^2 = \sum_i w_i (x_{(i)} - m - s e_i)^2 + s^2 \Bigl(1 - \sum_i w_i e_i^2\Bigr),
          \qquad e_i = \frac{\varphi(z_{i-1}) - \varphi(z_i)}{w_i}, \quad
          z_i = \Phi^{-1}(w_1 + \dots + w_i)

for N(m, s^2) and tokens in order: token i receives the part of the Gaussian between the quantiles
:math:`z_{i-1}` and :math:`z_i`, whose mean is :math:`m + s e_i`. Both terms are non-negative.

Source: spec section 5.
"""

__all__ = ["to_gaussian"]

import math

import torch
from jaxtyping import Float
from torch import Tensor

from vlasov.cloud import Cloud
from vlasov.errors import ShapeMismatch
from vlasov.gaussian import Gaussian
from vlasov.transport.checks import Atoms, checked_pair
from vlasov.transport.record import rescaled
from vlasov.transport.result import Distance


def to_gaussian(cloud: Cloud, law: Gaussian) -> Distance:
    """W_2 between a cloud and a Gaussian in d = 1, in fp64, with gradients of both.

    Raises:
        ShapeMismatch: for d > 1, or a batch on either side.
        NotFinite: for points that are not finite.

    Example:
        >>> round(to_gaussian(Cloud([[1.0]]), Gaussian(0.0, 4.0)).power.item(), 12)
        5.0
    """
    if cloud.d > 1 or law.d > 1 or law.batch_shape:
        raise ShapeMismatch(
            "The distance of a cloud to a Gaussian is exact for one law on the line but got "
            f"d = {cloud.d} and a law of shape {tuple(law.mean.shape)}. Project both, or use "
            "`gelbrich`."
        )
    mean = law.mean.to(device="cpu", dtype=torch.float64)
    deviation = torch.linalg.vector_norm(law.factor.to(device="cpu", dtype=torch.float64))
    # one atom for the law: the scale that keeps squares finite must know of it
    reach = Cloud(torch.stack([mean - deviation, mean + deviation]).detach())
    pair = checked_pair(cloud, reach, 2).scaled()
    power = _square(pair.a, mean[0] / pair.scale, deviation / pair.scale)
    method = "quantiles of the Gaussian"
    return rescaled(power, p=2.0, scale=pair.scale, method=method, optimal=True)


def _square(atoms: Atoms, mean: Tensor, deviation: Tensor) -> Float[Tensor, ""]:
    order = atoms.points[:, 0].detach().argsort()
    x, w = atoms.points[order, 0], atoms.weights[order].detach()
    centres = _cell_means(w)
    near = (w * (x - mean - deviation * centres).square()).sum()
    return near + deviation.square() * (1 - w @ centres.square()).clamp(min=0)


def _cell_means(w: Float[Tensor, " n"]) -> Float[Tensor, " n"]:
    """The means of N(0, 1) on consecutive cells of these masses."""
    end = w.new_tensor([torch.inf])
    z = torch.cat([-end, _quantiles(w), end])
    density = (-z.square() / 2).exp() / math.sqrt(2 * math.pi)
    means = (density[:-1] - density[1:]) / w
    # rounding could move the mean of a tiny cell out of it
    return torch.minimum(torch.maximum(means, z[:-1]), z[1:])


def _quantiles(w: Float[Tensor, " n"]) -> Float[Tensor, " m"]:
    """The quantiles between the cells; those above the median from the mass above them."""
    below = w.cumsum(0)[:-1]
    above = w.flip(0).cumsum(0).flip(0)[1:]
    return torch.where(below < above, torch.special.ndtri(below), -torch.special.ndtri(above))
