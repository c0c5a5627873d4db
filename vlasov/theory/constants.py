r"""The Lipschitz constants of the velocity fields for laws in a ball.

.. math:: |\Gamma_\mu| \le c, \qquad |D_x \Gamma_\mu| \le L_x, \qquad
          |\Gamma_\mu - \Gamma_\nu| \le L_\mu W_1(\mu, \nu)

for supports in the ball of radius R and points of that ball; sums over the heads.

Source: table of spec 1.3; linear and unnormalised by the same arguments.
"""

__all__ = ["Constants", "HeadNorms", "constants_of", "lipschitz", "norms"]

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from vlasov.attention import (
    L2,
    Attention,
    HeadMixture,
    Linear,
    Sigmoid,
    Sinkhorn,
    Softmax,
    Unnormalised,
)
from vlasov.errors import Unsupported
from vlasov.pde import TransformerPDE


@dataclass(frozen=True)
class Constants:
    """Bounds for one radius.

    Attributes:
        speed: of the velocity.
        in_space: of its derivative in x.
        in_measure: of its dependence on the law, in W_1; None where no explicit bound is known
            (Sinkhorn).
    """

    speed: float
    in_space: float
    in_measure: float | None


@dataclass(frozen=True)
class HeadNorms:
    """Spectral norms of V, A and, with the root of beta, Q and K; and the variant."""

    member: Attention
    value: float
    score: float
    query: float
    key: float


def lipschitz(pde: TransformerPDE, radius: float, t: float = 0.0) -> Constants:
    r"""The constants for laws in the ball of this radius, with the maps of time t.

    With v = \|V\|, a = \|A\|, A = beta K^T Q: softmax ``vR``, ``v a R^2``,
    ``v (1 + 2aR^2) e^{2aR^2}``; L2 ``vR``, ``2 v a R^2``,
    ``v (1 + 2 sqrt(2/e) |K| R) e^{(|Q| + |K|)^2 R^2}`` (Q and K with the root of beta); sigmoid
    ``vR``, ``v a R^2 / 4``, ``v (1 + a R^2 / 4)``; Sinkhorn ``vR/eps``, ``v a R^2 / eps^2``,
    unknown; linear ``v a R^3``, ``v a R^2``, ``2 v a R^2``; unnormalised softmax without the
    division.

    Raises:
        Unsupported: for a variant or an equation without such constants.

    Example:
        >>> constants = lipschitz(TransformerPDE("sigmoid"), 2.0)
        >>> constants.speed, constants.in_space, constants.in_measure
        (2.0, 1.0, 2.0)
    """
    return constants_of(norms(pde, t), radius)


def norms(pde: TransformerPDE, t: float = 0.0) -> tuple[HeadNorms, ...]:
    """The norms of the maps of every head at time t.

    Raises:
        Unsupported: for an equation with terms, noise or biases, or off R^d.
    """
    _require_attention_alone(pde)
    if pde.projections is None:
        one = torch.eye(1, dtype=torch.float64)
        maps = {"query": one[None], "key": one[None], "value": one[None]}
    else:
        maps = {k: m.detach().double() for k, m in pde.projections.at(t).maps().items()}
    for name, offset in maps.items():
        if name.endswith("bias") and bool(offset.any()):
            raise _refused(f"a {name}")
    members = pde.attention.members if isinstance(pde.attention, HeadMixture) else None
    heads = maps["query"].shape[-3]
    root = math.sqrt(abs(pde.beta))
    score = pde.beta * maps["key"].mT @ maps["query"]
    return tuple(
        HeadNorms(
            pde.attention if members is None else members[h],
            _norm(maps["value"][..., h, :, :]),
            _norm(score[..., h, :, :]),
            root * _norm(maps["query"][..., h, :, :]),
            root * _norm(maps["key"][..., h, :, :]),
        )
        for h in range(heads)
    )


def constants_of(heads: Sequence[HeadNorms], radius: float) -> Constants:
    """The constants of a sum of heads.

    Raises:
        Unsupported: for a variant without such constants.
    """
    parts = [_of_head(head, radius) for head in heads]
    known = [part.in_measure for part in parts if part.in_measure is not None]
    return Constants(
        sum(part.speed for part in parts),
        sum(part.in_space for part in parts),
        sum(known) if len(known) == len(parts) else None,
    )


def _norm(matrix: Tensor) -> float:
    """The largest spectral norm of a batch."""
    return float(torch.linalg.matrix_norm(matrix, ord=2).max())


def _refused(what: str) -> Unsupported:
    return Unsupported(
        f"The constants of the theory are those of attention alone in R^d but this equation has "
        f"{what}; leave it out."
    )


def _require_attention_alone(pde: TransformerPDE) -> None:
    if pde.geometry.name != "euclid":
        raise _refused(f"the geometry '{pde.geometry.name}'")
    if pde.noise is not None:
        raise _refused(f"the noise '{pde.noise.name}'")
    if pde.terms:
        raise _refused(f"the term '{pde.terms[0].name}'")


def _of_head(head: HeadNorms, r: float) -> Constants:
    v, a, strength = head.value, head.score, head.score * r**2
    match head.member:
        case Softmax():
            return Constants(v * r, v * strength, v * (1 + 2 * strength) * _exp(2 * strength))
        case L2():
            grown = _exp((head.query + head.key) ** 2 * r**2)
            slope = 1 + 2 * math.sqrt(2 / math.e) * head.key * r
            return Constants(v * r, 2 * v * strength, v * slope * grown)
        case Sigmoid():
            return Constants(v * r, v * strength / 4, v * (1 + strength / 4))
        case Sinkhorn(eps=eps):
            return Constants(v * r / eps, v * strength / eps**2, None)
        case Linear():
            return Constants(v * a * r**3, v * strength, 2 * v * strength)
        case Unnormalised():
            grown = v * _exp(strength)
            return Constants(grown * r, grown * strength, grown * (1 + strength))
        case _:
            raise Unsupported(
                f"No Lipschitz constants are known for '{head.member.name}' attention, whose "
                "field may jump; take another variant."
            )


def _exp(x: float) -> float:
    """The exponential; infinite where it leaves the range of numbers."""
    return math.exp(x) if x < 709 else math.inf
