r"""The equation behind a panel of a figure, in the library's scale or in that of the scripts.

.. math:: \text{score} = \beta\, y^T A x \ (\text{softmax, Sinkhorn}), \quad
          -\beta\, |Qx - Ky|^2 \ (L2), \qquad \beta = 1/\sqrt d

for every head. The scripts divide by other numbers: softmax as here; L2 divides A but not K^T K;
heads divide by the root of their own key width; Sinkhorn does not divide.

Heads of a split layer take equal shares of the rows of Q and K, and write to equal shares of the
coordinates by the rows of V; where rows run out a head is empty, and sees every key alike.

Source: spec sections 0, 4.
"""

__all__ = ["ONE_HEAD", "VARIANTS", "equation"]

import math

import torch
from jaxtyping import Float
from torch import Tensor

from vlasov.catalogue import nearest
from vlasov.experiments.paper.parameters import Parameters
from vlasov.pde import TransformerPDE
from vlasov.projections import Projections

VARIANTS = ("softmax", "l2", "sinkhorn", "two-head", "one-head")


ONE_HEAD = ("softmax", "l2", "one-head")
"""Where covariances of rank one come to rest on isotropic lines of A + A^T."""


def equation(variant: str, parameters: Parameters, *, as_published: bool) -> TransformerPDE:
    """The equation of one panel.

    Args:
        variant: one of `VARIANTS`; "two-head" and "one-head" are softmax heads of a split layer.
        parameters: Q, K, V, maybe with batch axes.
        as_published: scale the scores as the scripts do.

    Raises:
        UnknownName: for another variant.
    """
    if variant not in VARIANTS:
        raise nearest(variant, VARIANTS, kind="variant of the figures")
    query, key, value = parameters.query, parameters.key, parameters.value
    beta = query.shape[-1] ** -0.5
    if variant in {"two-head", "one-head"}:
        heads = 2 if variant == "two-head" else 1
        split = _split(parameters, heads)
        width = max(1, query.shape[-2] // heads)
        return TransformerPDE("softmax", split, beta=width**-0.5 if as_published else beta)
    if as_published and variant == "l2":
        query, beta = beta * query, 1.0
    if as_published and variant == "sinkhorn":
        beta = 1.0
    # The head axis is written out: a leading axis of three would be read as heads.
    maps = Projections(query.unsqueeze(-3), key.unsqueeze(-3), value.unsqueeze(-3))
    return TransformerPDE(variant, maps, beta=beta)


def _split(parameters: Parameters, heads: int) -> Projections:
    d = parameters.value.shape[-1]
    rows = math.ceil(d / heads)
    shares = [torch.arange(d) // rows == head for head in range(heads)]
    values = [parameters.value * share[:, None] for share in shares]
    return Projections(
        _rows(parameters.query, heads), _rows(parameters.key, heads), torch.stack(values, -3)
    )


def _rows(x: Float[Tensor, "*batch k d"], heads: int) -> Float[Tensor, "*batch heads rows d"]:
    rows = math.ceil(x.shape[-2] / heads)
    missing = heads * rows - x.shape[-2]
    padded = torch.cat([x, x.new_zeros(*x.shape[:-2], missing, x.shape[-1])], dim=-2)
    return padded.unflatten(-2, (heads, rows))
