"""Which equations keep a Gaussian law Gaussian: those whose velocity is affine on such laws."""

__all__ = ["affine_terms", "diffusion_of", "require_flat", "require_no_order"]

import torch

from vlasov._shapes import Points
from vlasov.attention import Attention, HeadMixture, Linear, Sinkhorn
from vlasov.attention.masks import Alibi, Causal, Explicit, Mask, Window
from vlasov.errors import InvalidValue, Unsupported
from vlasov.gaussian import Affine
from vlasov.geometry import Euclid, Geometry
from vlasov.pde.noise import Independent, Noise
from vlasov.pde.terms import Momentum, Term


def require_flat(geometry: Geometry) -> None:
    """Refuse a geometry on which no law is Gaussian.

    Raises:
        Unsupported: anywhere but in flat space.
    """
    if not isinstance(geometry, Euclid):
        raise Unsupported(
            f"Gaussian laws live in flat space but the geometry is '{geometry.name}'. Simulate a "
            "cloud of tokens instead."
        )


def affine_terms(terms: tuple[Term, ...], x: Points) -> Affine | None:
    """The sum of the local terms as an affine map; None if there is no term.

    Raises:
        Unsupported: for a term that is not affine, or momentum.
    """
    total: Affine | None = None
    for term in terms:
        one = None if isinstance(term, Momentum) else term.affine(x)
        if one is None:
            raise Unsupported(
                f"The term '{term.name}' is no affine force on the token, so a Gaussian law does "
                "not stay Gaussian. Drop it, or simulate a cloud of tokens."
            )
        total = one if total is None else _sum(total, one)
    return total


def _sum(a: Affine, b: Affine) -> Affine:
    return Affine(torch.add(a.matrix, b.matrix), torch.add(a.offset, b.offset))


def diffusion_of(noise: Noise | None) -> float | None:
    """The diffusion coefficient of independent noise; None without noise.

    Raises:
        Unsupported: for noise that tokens share: given it, the law has a random mean.
    """
    if noise is None or isinstance(noise, Independent):
        return None if noise is None else noise.diffusion
    raise Unsupported(
        f"The law of tokens under '{noise.name}' noise is random, no Gaussian that a flow "
        "carries. Use independent noise, or simulate clouds."
    )


def require_no_order(mask: Mask | None, attention: Attention, positions: str | None) -> None:
    """Refuse a mask unless the law is the same at every position, where it changes nothing.

    Raises:
        Unsupported: for a mask under which the law at a position becomes a mixture.
        InvalidValue: for `positions` other than ``"independent"`` or None.
    """
    if positions not in {None, "independent"}:
        raise InvalidValue(f"positions is 'independent' or None but got '{positions}'.")
    if mask is None:
        return
    if positions is None:
        raise Unsupported(
            f"Under the mask '{mask.name}' a token sees a mixture of the laws at other positions, "
            "no Gaussian. If the law is the same at every position the mask changes nothing: then "
            "pass positions='independent'. Otherwise simulate a cloud of tokens."
        )
    if isinstance(mask, Explicit):
        raise Unsupported(
            "An explicit mask is a matrix for so many tokens, no rule for a law of positions. "
            "Give a rule such as 'causal', or drop the mask."
        )
    members = attention.members if isinstance(attention, HeadMixture) else (attention,)
    if _one_sided(mask) and any(isinstance(member, Sinkhorn) for member in members):
        raise Unsupported(
            "Sinkhorn attention refuses a causal or one-sided mask: the only bistochastic "
            "triangular kernel is the identity. Use a symmetric mask, or softmax attention."
        )
    if isinstance(mask, Alibi) and any(isinstance(member, Linear) for member in members):
        raise Unsupported(
            "ALiBi lowers the weights of linear attention by position, also where the law is the "
            "same at every position. Use another mask or another attention."
        )


def _one_sided(mask: Mask) -> bool:
    return isinstance(mask, Causal) or (isinstance(mask, Window | Alibi) and mask.causal)
