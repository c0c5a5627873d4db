"""An equation read as a gradient flow, or the reason why it is none of the known ones."""

__all__ = [
    "GradientFlow",
    "constant_maps",
    "gradient_flow",
    "members_of",
    "refused",
    "would_be_flow",
]

from dataclasses import dataclass

import torch
from torch import Tensor

from vlasov.attention import L2, Attention, HeadMixture
from vlasov.cloud import Cloud
from vlasov.energies.functionals import Functional, functional_of
from vlasov.energies.structure import Structure, part_of, rounding, structure_of, unstructured
from vlasov.engines import Engine
from vlasov.errors import ShapeMismatch, Unsupported
from vlasov.gaussian import Gaussian
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


def gradient_flow(pde: TransformerPDE, tokens: Cloud | Gaussian) -> GradientFlow:
    """The gradient structure of an equation on tokens of this width and format.

    Raises:
        Unsupported: naming the first condition that fails.
    """
    now = constant_maps(pde, tokens)
    maps = now.maps()
    members = members_of(pde.attention, heads=now.heads)
    functionals = _functionals(members)
    structure = structure_of(
        pde.beta * maps["key"].mT @ maps["query"],
        maps["value"],
        drift=_drift(pde, maps["key"], for_l2=isinstance(members[0], L2)),
        scalar=not isinstance(pde.geometry, Euclid),
    )
    return GradientFlow(functionals, structure, now, pde.beta, pde.engine)


def would_be_flow(pde: TransformerPDE, tokens: Cloud | Gaussian) -> GradientFlow:
    """The functional of the attention and its metric with B = I, whether it descends or not.

    A mask and local terms are left out of both.

    Raises:
        Unsupported: for attention without a known functional, maps along depth, noise, or
            momentum.
    """
    if pde.momentum is not None:
        raise refused("the term 'momentum'", "ask for it without momentum")
    now = _autonomous(pde.replace(mask=None), tokens)
    maps = now.maps()
    functionals = tuple(map(_functional, members_of(pde.attention, heads=now.heads)))
    structure = unstructured(pde.beta * maps["key"].mT @ maps["query"], maps["value"])
    return GradientFlow(functionals, structure, now, pde.beta, pde.engine)


def constant_maps(pde: TransformerPDE, tokens: Cloud | Gaussian) -> Projections:
    """The maps of an equation without mask, noise, biases and maps along depth.

    Raises:
        Unsupported: naming the first of these that is there.
    """
    now = _autonomous(pde, tokens)
    for name, offset in now.maps().items():
        if name.endswith("bias") and bool(offset.any()):
            raise refused(f"a {name} (largest entry {offset.abs().max():.3g})", "leave it out")
    return now


def refused(what: str, remedy: str) -> Unsupported:
    """The error for an equation without an energy."""
    return Unsupported(f"No energy is known for an equation with {what}; {remedy}.")


def _autonomous(pde: TransformerPDE, tokens: Cloud | Gaussian) -> Projections:
    if pde.mask is not None:
        raise refused(f"the mask '{pde.mask.name}'", "ask for it without a mask")
    if pde.noise is not None:
        raise refused(f"the noise '{pde.noise.name}'", "ask for it without noise")
    path = pde.path(tokens)
    # constant maps are their own value at any time
    if not isinstance(path, Projections) or path.at(0.0) is not path:
        raise refused(
            "parameters along depth", "freeze them with `pde.replace(projections=path.at(t))`"
        )
    return path


def members_of(attention: Attention, *, heads: int) -> tuple[Attention, ...]:
    """The attention of each head.

    Raises:
        ShapeMismatch: for a mixture of another number of members.
    """
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
                raise refused(
                    f"{len(found)} heads, one of them '{member.name}'",
                    "take one head, or 'unnormalised', 'linear', 'sigmoid' or 'sinkhorn' heads",
                )
    return found


def _functional(attention: Attention) -> Functional:
    functional = functional_of(attention)
    if functional is None:
        raise refused(
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
            raise refused(
                "L2 attention but without the drift -sigma B N x",
                "add it, as in terms='decay' for identity maps",
            )
        return linear, squares
    if pde.terms:
        raise refused(f"the term '{pde.terms[0].name}'", "ask for it without terms")
    return None


def _matrix(term: Term, like: Tensor) -> Tensor:
    if isinstance(term, Decay):
        return -term.rate * torch.eye(like.shape[-1], dtype=like.dtype, device=like.device)
    if isinstance(term, LinearTerm):
        return term.matrix.to(like)
    raise refused(f"the term '{term.name}'", "ask for it without that term")


def _require_scalar(matrix: Tensor, what: str) -> None:
    eye = torch.eye(matrix.shape[-1], dtype=matrix.dtype, device=matrix.device)
    share = part_of(matrix - matrix.diagonal().mean() * eye, matrix)
    if share > rounding(matrix):
        raise refused(
            f"{what} that is no multiple of the identity on a curved geometry (by {share:.3g})",
            "use R^d, or a multiple of the identity",
        )
