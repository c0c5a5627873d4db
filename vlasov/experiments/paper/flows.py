r"""Many covariances under one equation: how each ends, and its path in its own time.

Systems of one batch end at times of their own, so paths are recorded in a second run at fractions
of those times. With :math:`V_i = T_i V` the system i runs :math:`T_i` times as fast and ends at 1:

.. math:: \Sigma_i' = T_i \,\mathrm{sym}(V \Sigma_i A \Sigma_i)
"""

__all__ = ["FRACTIONS", "KINDS", "ends", "paths"]

from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from vlasov._shapes import Covariance
from vlasov.experiments.paper.cone import coordinates
from vlasov.gaussian import Gaussian
from vlasov.pde import TransformerPDE
from vlasov.projections import Projections
from vlasov.reduction import reduce
from vlasov.reduction.classify import Rule
from vlasov.reduction.outcome import outcome_of

KINDS = ("converged", "blow-up", "exponential divergence", "diverged", "still moving")
"""The outcomes; a piece holds their indices."""

FRACTIONS = tuple(
    np.unique(
        np.concatenate(
            [[0.0], np.geomspace(1e-8, 0.1, 197), np.linspace(0.1, 0.9, 49),
             1 - np.geomspace(0.1, 1e-6, 26)]
        )
    ).tolist()
)  # fmt: skip
"""Fractions of the end time: dense where a blow-up ends and where a slow decay begins."""


def ends(pde: TransformerPDE, cov: Covariance, *, until: float, speed: float) -> dict[str, Tensor]:
    """How each system ends, as tensors by name.

    Args:
        pde: the equation, its maps maybe with the batch axis of the covariances.
        cov: the covariances at the start; their mean is zero.
        until: the last time.
        speed: below this relative speed a system has converged (see `Rule`).
    """
    run = reduce(pde, _centred(cov), until=until)
    end = outcome_of(pde, run, rule=Rule(speed=speed))
    stopped = torch.tensor(run.member_stopped_at, dtype=torch.float64)
    blown = run.blow_up_time
    return {
        "kind": torch.tensor([KINDS.index(kind) for kind in end.kinds]),
        "rank": end.rank,
        "spectrum": end.spectrum,
        "end": stopped if blown is None else torch.minimum(stopped, torch.as_tensor(blown)),
        "last": end.cov,
        "speed": end.figures.speed,
    }


def paths(
    pde: TransformerPDE, cov: Float[Tensor, "n 2 2"], end: Float[Tensor, " n"]
) -> Float[Tensor, "f n 3"]:
    """Coordinates (u, w, s) at `FRACTIONS` of the end times; NaN from a system's own end on.

    Args:
        pde: an equation with constant maps, none of which has batch axes.
        cov: the covariances at the start.
        end: the end time of each.
    """
    maps = pde.projections.maps() if isinstance(pde.projections, Projections) else {}
    faster: dict[str, Any] = {**maps, "value": maps["value"] * end.to(cov).reshape(-1, 1, 1, 1)}
    timed = pde.replace(projections=Projections(**faster))
    run = reduce(timed, _centred(cov), until=1.0, save_at=FRACTIONS[1:], rtol=1e-7, atol=1e-10)
    return coordinates(run.cov)


def _centred(cov: Covariance) -> Gaussian:
    return Gaussian(cov.new_zeros(cov.shape[:-1]), cov)
