"""An equation read as a gradient flow, or the reason why it is none of the known ones."""

__all__ = ["GradientFlow", "gradient_flow"]

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from vlasov.attention import L2, Attention, HeadMixture
from vlasov.cloud import Cloud
from vlasov.energies.functionals import Functional, functional_of
from vlasov.energies.structure import Structure, part_of, rounding, structure_of
from vlasov.engines import Engine
from vlasov.errors import ShapeMismatch, Unsupported
from vlasov.geometry import Euclid
from vlasov.pde import Decay, LinearTerm, Term, TransformerPDE
from vlasov.projections import Projections


@dataclass(frozen=True, eq=False)
class GradientFlow:
    """The functional of each head, and what turns it into the energy of the equation."""

    functionals: tuple[Functional, ...]
    structure: Structure
    projections: Projections
    beta: float
    engine: Engine


def gradient_flow(pde: TransformerPDE, cloud: Cloud) -> GradientFlow:
    """The gradient structure of an equation on clouds of this width and format.

    Raises:
        Unsupported: naming the first condition that fails.
    """
    path = pde.path(cloud)
    # constant maps are their own value at any time
    constant = isinstance(path, Projections) and path.at(0.0) is path
    _require_autonomous(pde, constant=constant)
    maps = path.at(0.0).maps()
    _require_no_biases(maps)
    members = _members(pde.attention, heads=path.heads)
    functionals = _functionals(members)
    structure = structure_of(
        pde.beta * maps["key"].mT @ maps["query"],
        maps["value"],
        drift=_drift(pde, maps["key"], for_l2=isinstance(members[0], L2)),
        scalar=not isinstance(pde.geometry, Euclid),
    )
    return GradientFlow(functionals, structure, path.at(0.0), pde.beta, pde.engine)


def _refused(what: str, remedy: str) -> Unsupported:
    return Unsupported(f"No energy is known for an equation with {what}; {remedy}.")


def _require_autonomous(pde: TransformerPDE, *, constant: bool) -> None:
    if pde.mask is not None:
        raise _refused(f"the mask '{pde.mask.name}'", "ask for it without a mask")
    if pde.noise is not None:
        raise _refused(f"the noise '{pde.noise.name}'", "ask for it without noise")
    if not constant:
        raise _refused(
            "parameters along depth", "freeze them with `pde.replace(projections=path.at(t))`"
        )


def _require_no_biases(maps: Mapping[str, Tensor]) -> None:
    for name, offset in maps.items():
        if name.endswith("bias") and bool(offset.any()):
            raise _refused(f"a {name} (largest entry {offset.abs().max():.3g})", "leave it out")


def _members(attention: Attention, *, heads: int) -> tuple[Attention, ...]:
    if not isinstance(attention, HeadMixture):
        return (attention,) * heads
    if len(attention.members) != heads:
        raise ShapeMismatch(
            f"The mixture has {len(attention.members)} members but the projections have {heads} "
            "heads; give one attention per head."
        )
    return attention.members


def _functionals(members: tuple[Attention, ...]) -> tuple[Functional, ...]:
    found = tuple(_functional(member) for member in members)
    if len(found) > 1:
        for member, functional in zip(members, found, strict=True):
            if not functional.several_heads:
                raise _refused(
                    f"{len(found)} heads, one of them '{member.name}'",
                    "take one head, or 'unnormalised', 'linear', 'sigmoid' or 'sinkhorn' heads",
                )
    return found


def _functional(attention: Attention) -> Functional:
    functional = functional_of(attention)
    if functional is None:
        raise _refused(
            f"the attention '{attention.name}'",
            "take one of softmax, unnormalised, linear, sigmoid, sinkhorn, or l2 with its drift",
        )
    return functional


def _drift(pde: TransformerPDE, key: Tensor, *, for_l2: bool) -> tuple[Tensor, Tensor] | None:
    """The drift M of L2 attention in R^d, with N = beta K^T K; None where neither matters."""
    squares = pde.beta * key[0].mT @ key[0]
    linear = sum((_matrix(term, squares) for term in pde.terms), torch.zeros_like(squares))
    if not isinstance(pde.geometry, Euclid):
        # along x the drift is normal, and |Kx| is constant
        _require_scalar(linear, "a linear term")
        if for_l2:
            _require_scalar(squares, "L2 attention with an N = beta K^T K")
        return None
    if for_l2:
        if not pde.terms:
            raise _refused(
                "L2 attention but without the drift -sigma B N x",
                "add it, as in terms='decay' for identity maps",
            )
        return linear, squares
    if pde.terms:
        raise _refused(f"the term '{pde.terms[0].name}'", "ask for it without terms")
    return None


def _matrix(term: Term, like: Tensor) -> Tensor:
    if isinstance(term, Decay):
        return -term.rate * torch.eye(like.shape[-1], dtype=like.dtype, device=like.device)
    if isinstance(term, LinearTerm):
        return term.matrix.to(like)
    raise _refused(f"the term '{term.name}'", "ask for it without that term")


def _require_scalar(matrix: Tensor, what: str) -> None:
    eye = torch.eye(matrix.shape[-1], dtype=matrix.dtype, device=matrix.device)
    share = part_of(matrix - matrix.diagonal().mean() * eye, matrix)
    if share > rounding(matrix):
        raise _refused(
            f"{what} that is no multiple of the identity on a curved geometry (by {share:.3g})",
            "use R^d, or a multiple of the identity",
        )
