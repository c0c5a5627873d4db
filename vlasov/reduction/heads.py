r"""The constant matrices of an equation, head by head, as its Gaussian theory names them.

.. math:: A_h = \beta K_h^T Q_h, \qquad N_h = \beta K_h^T K_h, \qquad V_h
"""

__all__ = ["Heads", "heads_of", "obstacle"]

from dataclasses import dataclass

from jaxtyping import Float
from torch import Tensor

from vlasov.attention import Attention, HeadMixture
from vlasov.errors import ShapeMismatch, Unsupported
from vlasov.geometry import Euclid
from vlasov.pde import TransformerPDE
from vlasov.projections import ParameterPath, Projections

HeadMatrices = Float[Tensor, "*batch h d d"]


@dataclass(frozen=True, eq=False)
class Heads:
    """One variant and one triple of maps for each head."""

    members: tuple[Attention, ...]
    query: Float[Tensor, "*#batch h k d"]
    key: Float[Tensor, "*#batch h k d"]
    value: Float[Tensor, "*#batch h d d"]
    beta: float

    @property
    def score(self) -> HeadMatrices:
        """The matrices A of the scores ``y^T A x``."""
        return self.beta * self.key.mT @ self.query

    @property
    def squares(self) -> HeadMatrices:
        """The matrices N of the squares of the keys."""
        return self.beta * self.key.mT @ self.key


def heads_of(
    pde: TransformerPDE, like: Float[Tensor, "*batch d"], *, masked: bool = False
) -> Heads:
    """The heads of a bare equation, in the width, precision and device of `like`.

    Bare: constant maps without biases in R^d, no terms, no noise, and no mask unless `masked`.

    Raises:
        Unsupported: naming the part of the equation that is more than that.
        ShapeMismatch: for maps of another width, or a mixture with another number of heads.
    """
    found = obstacle(pde, masked=masked)
    if found is not None:
        raise Unsupported(
            f"The theory of closed forms and stationary laws takes an equation of constant maps "
            f"alone but this one has {found}; leave that out, or integrate the equation."
        )
    d = like.shape[-1]
    path = Projections.identity(d) if pde.projections is None else pde.projections
    if path.width != d:
        raise ShapeMismatch(
            f"The projections act on tokens of width {path.width} but the law has width {d}; "
            "build them for that width."
        )
    maps = path.at(0.0).to(dtype=like.dtype, device=like.device).maps()
    members = _members(pde.attention, heads=path.heads)
    return Heads(members, maps["query"], maps["key"], maps["value"], pde.beta)


def obstacle(pde: TransformerPDE, *, masked: bool = False) -> str | None:
    """The part of an equation that is more than constant maps; None for a bare one."""
    if not isinstance(pde.geometry, Euclid):
        return f"the geometry '{pde.geometry.name}'"
    if pde.mask is not None and not masked:
        return f"the mask '{pde.mask.name}'"
    if pde.noise is not None:
        return f"the noise '{pde.noise.name}'"
    if pde.terms:
        return f"the term '{pde.terms[0].name}'"
    return None if pde.projections is None else _obstacle_in_maps(pde.projections)


def _obstacle_in_maps(path: ParameterPath) -> str | None:
    if not isinstance(path, Projections) or path.at(0.0) is not path:
        return "parameters along depth"
    for name, offset in path.maps().items():
        if name.endswith("bias") and bool(offset.any()):
            return f"a {name} (largest entry {float(offset.abs().max()):.3g})"
    return None


def _members(attention: Attention, *, heads: int) -> tuple[Attention, ...]:
    if not isinstance(attention, HeadMixture):
        return (attention,) * heads
    if len(attention.members) != heads:
        raise ShapeMismatch(
            f"The mixture has {len(attention.members)} members but the projections have {heads} "
            "heads; give one attention per head."
        )
    return attention.members
