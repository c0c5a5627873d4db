"""The covariance equation solved without a solver, where a closed form is known.

One head of softmax, linear, L2 or Sinkhorn attention with constant maps, and one of: a stationary
covariance, V that commutes with the rest (V = vI and d = 1 among them), or a law of rank one.
"""

__all__ = ["closed_form", "exact", "exact_blow_up_time", "exact_limit"]

import math

import torch
from jaxtyping import Float
from torch import Tensor

from vlasov._numbers import require_finite
from vlasov._shapes import Covariance
from vlasov.attention import L2, Attention, Sinkhorn
from vlasov.errors import Unsupported
from vlasov.gaussian import Gaussian
from vlasov.pde import TransformerPDE
from vlasov.reduction.cases import ClosedForm, Commuting, Resting
from vlasov.reduction.closed_forms import rounding
from vlasov.reduction.commutation import commutator_share, commutators, skew_share
from vlasov.reduction.decoupled import Decoupled, joint_modes
from vlasov.reduction.one_head import OneHead
from vlasov.reduction.rank_one import RankOne


def exact(pde: TransformerPDE, gaussian: Gaussian, t: float | Float[Tensor, "..."]) -> Gaussian:
    """The law at time t, or at each of several times that broadcast with the batch.

    Raises:
        Unsupported: where no closed form is known, naming what stands in the way.
        InvalidValue: for a time at or past the blow-up, which the message names.

    Example:
        >>> law = exact(TransformerPDE(), Gaussian(1.0, 1.0), 0.375)
        >>> [round(x.item(), 6) for x in (law.mean, law.cov)]
        [2.909983, 4.0]
    """
    times = torch.as_tensor(t, dtype=gaussian.mean.dtype, device=gaussian.mean.device)
    require_finite(times, name="The time")
    return closed_form(pde, gaussian).at(times)


def exact_blow_up_time(pde: TransformerPDE, gaussian: Gaussian) -> float | Tensor | None:
    """The time at which the covariance becomes infinite; None where it never does.

    A batch has one time each, infinite where there is no blow-up.

    Raises:
        Unsupported: where no closed form is known.

    Example:
        >>> exact_blow_up_time(TransformerPDE(), Gaussian(0.0, 4.0))
        0.125
    """
    times = closed_form(pde, gaussian).blow_up_time()
    if gaussian.batch_shape or times.dim():
        return times
    return None if math.isinf(float(times)) else float(times)


def exact_limit(pde: TransformerPDE, gaussian: Gaussian) -> Covariance:
    """The covariance as t goes to infinity.

    Raises:
        Unsupported: where no closed form is known.
        InvalidValue: where the covariance grows without bound.
    """
    return closed_form(pde, gaussian).limit()


def closed_form(pde: TransformerPDE, gaussian: Gaussian) -> ClosedForm:
    """The solution as an object, with the name of the case that applies.

    Raises:
        Unsupported: where none is known, naming what stands in the way.

    Example:
        >>> closed_form(TransformerPDE(), Gaussian([0.0, 0.0], torch.eye(2).double())).case
        'V is symmetric and commutes with Sigma_0 and S = VA + A^T V^T'
    """
    head = OneHead.of(pde, gaussian)
    if head.rests:
        return Resting(gaussian, head.mean_rate(), head.whole)
    limit = rounding(gaussian.mean)
    if isinstance(head.member, L2 | Sinkhorn):
        found = _splitting(head)
        if _vanish(found, limit):
            return _decoupled(head, head.member)
    else:
        found = commutators(head.value, head.score, head.moments.cov)
        if _vanish(found, limit):
            return _commuting(head, limit)
    if head.on_a_line:
        return _rank_one(head)
    raise _unknown(head.member, found, limit)


def _vanish(found: dict[str, Tensor], limit: float) -> bool:
    return all(bool((share <= limit).all()) for share in found.values())


def _unknown(member: Attention, found: dict[str, Tensor], limit: float) -> Unsupported:
    misses = {what: float(share.max()) for what, share in found.items()}
    listed = ", ".join(f"{what} by {share:.3g}" for what, share in misses.items() if share > limit)
    return Unsupported(
        f"A closed form of '{member.name}' attention needs a stationary covariance, rank one, or "
        f"these to vanish, which they miss in relative size: {listed}; integrate the equation."
    )


def _commuting(head: OneHead, limit: float) -> Commuting:
    product = head.value @ head.score
    skew = float(skew_share(product).max())
    if skew > limit and bool(head.start.mean.any()):
        raise Unsupported(
            f"The covariance has a closed form but the mean needs a symmetric VA, which is skew "
            f"by {skew:.3g}; centre the law, or integrate the equation."
        )
    return Commuting(head.start, head.moments.factor, head.value, product, head.whole)


def _splitting(head: OneHead) -> dict[str, Tensor]:
    """What the decoupled case wants to vanish."""
    value, score, cov = head.value, head.score, head.start.cov
    squares = head.squares if isinstance(head.member, L2) else score
    _, _, left = joint_modes(cov, value, score, squares)
    return {
        "A - A^T": skew_share(score),
        "V - V^T": skew_share(value),
        "V Sigma_0 - Sigma_0 V": commutator_share(value, cov),
        "V A - A V": commutator_share(value, score),
        "V N - N V": commutator_share(value, squares),
        "what joint modes leave of V, A and N": left,
    }


def _decoupled(head: OneHead, member: L2 | Sinkhorn) -> Decoupled:
    squares = head.squares if isinstance(member, L2) else head.score
    basis, rates, _ = joint_modes(head.start.cov, head.value, head.score, squares)
    return Decoupled(member, head.start, head.value, head.score - squares, basis, rates)


def _rank_one(head: OneHead) -> RankOne:
    drift = head.mean_rate() if isinstance(head.member, Sinkhorn) else None
    if drift is None and not head.whole and bool(head.start.mean.any()):
        raise Unsupported(
            "The covariance of rank one has a closed form but its mean has none; centre the law, "
            "or integrate the equation."
        )
    return RankOne(head.clock(), head.start, head.shares(), drift)
