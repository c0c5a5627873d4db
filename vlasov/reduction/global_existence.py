r"""Equations under which no Gaussian law blows up.

Sinkhorn heads, since a conditional expectation contracts second moments, and L2 heads of positive
temperature with injective K, since their velocity is at most
:math:`|V||Q|/s_{\min}(K)` times the distance from the mean. Source: spec sections 2.4, 2.5.
"""

__all__ = ["never_blows_up"]

import torch
from jaxtyping import Bool
from torch import Tensor

from vlasov.attention import L2, Attention, HeadMixture, Sinkhorn
from vlasov.gaussian import Gaussian
from vlasov.pde import TransformerPDE
from vlasov.projections import Projections


def never_blows_up(pde: TransformerPDE, law: Gaussian) -> Bool[Tensor, "*batch"]:
    """Whether theory rules a blow-up out, for each batch of parameters."""
    path, members = pde.path(law), _members(pde.attention, pde.path(law).heads)
    if all(isinstance(member, Sinkhorn) for member in members):
        return torch.tensor(True)
    constant = isinstance(path, Projections) and path.at(0.0) is path
    if not constant or pde.beta < 0:
        return torch.tensor(all(isinstance(member, Sinkhorn) for member in members))
    key = path.at(0.0).maps()["key"].detach()
    injective = torch.linalg.matrix_rank(key) == key.shape[-1]
    safe = [
        torch.full_like(injective[..., h], isinstance(member, Sinkhorn))
        | (injective[..., h] & isinstance(member, L2))
        for h, member in enumerate(members)
    ]
    return torch.stack(safe).all(0)


def _members(attention: Attention, heads: int) -> tuple[Attention, ...]:
    return attention.members if isinstance(attention, HeadMixture) else (attention,) * heads
