r"""Entropic transport between clouds for the cost :math:`|x-y|^2`, biased and debiased.

.. math:: OT_\varepsilon(\mu, \nu) = \min_\pi \int |x-y|^2 d\pi
          + \varepsilon\, \mathrm{KL}(\pi | \mu \otimes \nu), \qquad
          S_\varepsilon(\mu, \nu) = OT_\varepsilon(\mu, \nu)
          - \tfrac12 OT_\varepsilon(\mu, \mu) - \tfrac12 OT_\varepsilon(\nu, \nu)

eps is in squared units of the points, beside the whole squared distance and not its half. The
entropic plan costs more than W_2^2, between a cloud and itself too, and its objective is least at
a shrunken copy. The debiased S is 0 for equal clouds only; as eps falls it tends to W_2^2.

Source: Cuturi, NeurIPS 2013; Genevay, Peyré and Cuturi, arXiv:1706.00292; Feydy et al.,
arXiv:1810.08278.
"""

__all__ = ["debiased_distance", "entropic_distance"]

import math

import torch
from torch import Tensor

from vlasov.cloud import Cloud
from vlasov.errors import InvalidValue
from vlasov.transport.checks import Atoms, checked_pair
from vlasov.transport.potentials import potentials, self_potentials
from vlasov.transport.record import rescaled
from vlasov.transport.result import Distance
from vlasov.transport.sides import Side, mean_squared_distance, softmin

_MARGINAL = 1e-9
_STEPS = 500


def entropic_distance(
    a: Cloud, b: Cloud, *, eps: float, tolerance: float = _MARGINAL, max_steps: int = _STEPS
) -> Distance:
    r"""The root of the mean :math:`|x-y|^2` under the entropic plan: an upper bound of W_2.

    `power` is :math:`\int |x-y|^2 d\pi_\varepsilon`, without the entropy, and without gradient.
    The fact `objective` is :math:`OT_\varepsilon`. Marginals hold within `tolerance`, the sum of
    absolute differences. Memory of order n m.

    Raises:
        InvalidValue: for eps that is not positive.
        ShapeMismatch: for a batch of clouds, or clouds of different widths.
        NotFinite: for points that are not finite.
        NotConverged: if the tolerance is not reached in `max_steps`.

    Example:
        >>> cloud = Cloud([[0.0], [1.0]])
        >>> round(entropic_distance(cloud, cloud, eps=1.0).power.item(), 6)
        0.268941
    """
    left, right, unit = _sides(a, b, eps)
    with torch.no_grad():
        settings = {"eps": eps / unit**2, "tolerance": tolerance}
        found = potentials(left, right, **settings, max_steps=max_steps)
        cost = mean_squared_distance(left, right, found.g, eps / unit**2)
        objective = _objective(left, right, found.g, eps / unit**2)
    return rescaled(
        cost,
        p=2.0,
        scale=unit,
        method=f"entropic plan, eps = {eps:g}",
        optimal=False,
        facts={
            "eps": eps,
            "objective": float(objective) * unit**2,
            "marginal_error": found.error,
            "steps": found.steps,
        },
    )


def debiased_distance(
    a: Cloud, b: Cloud, *, eps: float, tolerance: float = _MARGINAL, max_steps: int = _STEPS
) -> Distance:
    r"""The root of the Sinkhorn divergence :math:`S_\varepsilon`, with gradients.

    `power` is the divergence itself. Memory of order n m; of order n for the gradient.

    Raises:
        InvalidValue: for eps that is not positive.
        ShapeMismatch: for a batch of clouds, or clouds of different widths.
        NotFinite: for points that are not finite.
        NotConverged: if the tolerance is not reached in `max_steps`.

    Example:
        >>> a, b = Cloud([[0.0], [1.0]]), Cloud([[3.0], [4.0]])
        >>> round(debiased_distance(a, b, eps=0.1).power.item(), 9)
        9.0
    """
    left, right, unit = _sides(a, b, eps)
    settings = {"eps": eps / unit**2, "tolerance": tolerance}
    with torch.no_grad():
        across = potentials(left, right, **settings, max_steps=max_steps)
        within = [self_potentials(side, **settings, max_steps=max_steps) for side in (left, right)]
    power = _objective(left, right, across.g, eps / unit**2)
    for side, own in zip((left, right), within, strict=True):
        power = power - _objective(side, side, own.g, eps / unit**2) / 2
    return rescaled(
        power,
        p=2.0,
        scale=unit,
        method=f"Sinkhorn divergence (debiased), eps = {eps:g}",
        optimal=False,
        facts={
            "eps": eps,
            "marginal_error": max(s.error for s in (across, *within)),
            "steps": across.steps + sum(s.steps for s in within),
        },
    )


def _sides(a: Cloud, b: Cloud, eps: float) -> tuple[Side, Side, float]:
    """Both clouds about one centre, and their unit of length."""
    pair = checked_pair(a, b, 2).scaled()
    if not (math.isfinite(eps) and eps / pair.scale**2 > 0):
        raise InvalidValue(
            f"Entropic transport needs a finite eps > 0 but got {eps} for points of size "
            f"{pair.scale:g}. Take some percent of the mean squared distance."
        )
    centre = torch.cat([pair.a.points, pair.b.points]).detach().mean(0)
    return _side(pair.a, centre), _side(pair.b, centre), pair.scale


def _side(atoms: Atoms, centre: Tensor) -> Side:
    return Side(atoms.points - centre, atoms.weights.log())


def _objective(a: Side, b: Side, g: Tensor, eps: float) -> Tensor:
    """The dual value; by the envelope theorem potentials are constants on the way back."""
    rows = softmin(a, b.detach(), g, eps)
    columns = softmin(b, a.detach(), rows.detach(), eps)
    return a.mean(rows) + b.mean(columns)
