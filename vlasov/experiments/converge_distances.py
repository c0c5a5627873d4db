r"""Wasserstein distances of many clouds to their limit; under a mask, of conditional laws.

.. math:: d_p(\mu^n, \mu) = \Bigl(\frac1G \sum_{s} W_p(\mu^{n,s}, \mu^s)^p\Bigr)^{1/p}

over the G positions s that cloud and limit share, each with the mass 1/G.

Source: spec 1.4, 5.
"""

__all__ = ["conditional", "journeys", "line_distances"]

import torch
from jaxtyping import Float
from torch import Tensor

from vlasov.cloud import Cloud
from vlasov.geometry import Geometry
from vlasov.transport import distance, gelbrich
from vlasov.transport.line import merged


def line_distances(
    x: Float[Tensor, "s n 1"], limit: Float[Tensor, "g m 1"], p: float
) -> Float[Tensor, " s"]:
    """Exact distances on the line, all clouds at once: their quantiles end at the same levels."""
    groups = x[..., 0].unflatten(-1, (len(limit), -1)).sort(-1).values
    points = limit[..., 0].sort(-1).values
    n, m = groups.shape[-1], points.shape[-1]
    levels = (torch.arange(1, size, dtype=torch.float64) / size for size in (n, m))
    i, j, mass = merged(*levels)
    power = torch.zeros(len(x), dtype=x.dtype)
    for g, line in enumerate(points):
        power += ((groups[:, g, i] - line[j]).abs().pow(p) * mass).sum(-1)
    return (power / len(limit)).pow(1 / p)


def conditional(
    a: Float[Tensor, "n d"], b: Float[Tensor, "m d"], groups: int, p: float, geometry: Geometry
) -> float:
    """The distance of two clouds sorted by position; without a mask there is one group."""
    pairs = zip(a.unflatten(0, (groups, -1)), b.unflatten(0, (groups, -1)), strict=True)
    powers = [float(distance(Cloud(x), Cloud(y), p, geometry=geometry).power) for x, y in pairs]
    return (sum(powers) / groups) ** (1 / p)


def journeys(
    start: Float[Tensor, "s n d"], end: Float[Tensor, "s n d"]
) -> tuple[Float[Tensor, " k"], Float[Tensor, " k"]]:
    """W_2 from the law at the start to that at the end, as independent clouds show it.

    The distance of the start of one cloud to the end of the next, and that of their moments.
    """
    found = [
        (float(distance(Cloud(a), Cloud(b), 2)), float(gelbrich(Cloud(a), Cloud(b))))
        for a, b in zip(start[:-1], end[1:], strict=True)
        if bool(b.isfinite().all())
    ]
    readings = torch.tensor(found, dtype=torch.float64).reshape(-1, 2)
    return readings[:, 0], readings[:, 1]
