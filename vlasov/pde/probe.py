"""Looking at an equation at one time: the velocity and the attention matrix of a cloud."""

__all__ = ["attention_matrix", "velocity"]

import torch
from jaxtyping import Float
from torch import Tensor

from vlasov._shapes import Points
from vlasov.cloud import Cloud
from vlasov.engines import Dense
from vlasov.pde.transformer_pde import TransformerPDE

_HALF = (torch.float16, torch.bfloat16)


def velocity(pde: TransformerPDE, cloud: Cloud, t: float = 0.0) -> Points:
    r"""Velocity of every token at time t (layers × step).

    .. math:: T_{x_i}(\Gamma_\mu(x_i) + F(t, x_i))

    Under momentum this is the force on tokens at rest. Half-precision clouds are computed in
    float32 and rounded once.

    Raises:
        NotOnGeometry: if the cloud is not on the geometry.
        ShapeMismatch: if equation and cloud do not fit.

    Example:
        >>> cloud = Cloud([[1.0], [2.0], [3.0]])
        >>> [round(v, 6) for v in velocity(TransformerPDE(), cloud).flatten().tolist()]
        [2.57521, 2.850937, 2.947975]
    """
    pde.geometry.check(cloud.points)
    dtype = cloud.points.dtype
    working = cloud.to(dtype=torch.float32) if dtype in _HALF else cloud
    field = pde.replace(terms=tuple(t for t in pde.terms if t is not pde.momentum))
    return field.particle_field(working)(t, working.points).to(dtype)


def attention_matrix(
    pde: TransformerPDE, cloud: Cloud, t: float = 0.0
) -> Float[Tensor, "*batch heads n n"]:
    r"""Weights :math:`w_{ij}` with :math:`\Gamma_i = \sum_j w_{ij} V x_j`, for each head.

    Stores n x n numbers a head. Rows sum to one for row-stochastic variants and to 1/eps for
    Sinkhorn.
    """
    q, k, _ = pde.path(cloud).at(t).project(cloud.points)
    eye = torch.eye(cloud.n, dtype=q.dtype, device=q.device).expand(*q.shape[:-2], -1, -1)
    return pde.attention.average(
        q,
        k,
        eye,
        cloud.log_weights[..., None, :],
        Dense(),
        beta=pde.beta,
        mask=pde.visibility(cloud),
    )
