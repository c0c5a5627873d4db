r"""One sum over a cloud through the moments of its keys about one centre, and its bound.

.. math:: e^{\langle q, k\rangle} = e^{\langle q, c\rangle} e^{\langle a, k - c\rangle}\,
          \sum_\alpha \frac{p_l\, l!}{\alpha!}\, (q - a)^\alpha (k - c)^\alpha\, (1 + \delta),
          \qquad l = |\alpha| \le m,\ |\delta| \le \varepsilon

wherever :math:`|\langle q - a, k - c\rangle| \le r`. All weights are positive, so an average is
off by at most a multiple (`Plan.relative`) of the largest distance of a value from it.

A monomial is one of the first coordinates (outer) times one of the last few (inner): gathering and
evaluation are matrix products, one for each degree of the outer one, and no array holds all
monomials of many tokens.

Source: spec, engines page, "The certified near-linear engine" and "Higher d".
"""

__all__ = ["MonomialSum", "monomial_sum", "plan_of"]

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from vlasov.engines.engine_report import EngineReport
from vlasov.engines.expansion import ROUNDING
from vlasov.engines.monomial_choice import Plan, plan


@dataclass(frozen=True, eq=False)
class MonomialSum:
    """Averages (n, values), natural log-sums, and bounds of their absolute errors."""

    averages: Tensor
    logs: Tensor
    bound: float
    log_bound: float
    report: EngineReport


def monomial_sum(q: Tensor, k: Tensor, v: Tensor, logits: Tensor, tolerance: float) -> MonomialSum:
    """The sum for queries (n, d), keys (m, d), values (m, c), finite key logits (m,); float64.

    Raises:
        EngineUnsupported: where rounding, or the number of monomials, does not allow it.
    """
    clock = time.perf_counter()
    (a, _, x), (c, _, y) = _on_unit_ball(q), _on_unit_ball(k)
    chosen = plan_of(q, k, v, logits, tolerance)
    tilt = (k - c) @ a + logits
    top, middle = tilt.max(), v.mean(dim=0)
    values = torch.cat([torch.ones_like(tilt)[None], (v - middle).mT]) * (tilt - top).exp()
    totals = _evaluated(chosen, x, _gathered(chosen, y, values))
    averages = (totals[1:] / totals[0]).mT
    logs = totals[0].log() + top + q @ c
    reach = float(_longest(averages) + _longest(v - middle))
    bound = chosen.relative * reach + ROUNDING * float(_longest(v))
    seconds = time.perf_counter() - clock
    report = EngineReport("monomials", bound, 0.0, 1.0, 0.0, seconds)
    return MonomialSum(averages + middle, logs, bound, -math.log1p(-chosen.relative), report)


def plan_of(q: Tensor, k: Tensor, v: Tensor, logits: Tensor, tolerance: float) -> Plan:
    """How that sum would be made.

    Raises:
        EngineUnsupported: where rounding, or the number of monomials, does not allow it.
    """
    return plan(
        k.shape[-1],
        float(_centre(q)[1] * _centre(k)[1]),
        tolerance,
        exponent=float(_longest(q) * _longest(k) + logits.abs().max()),
        keys=len(k),
        columns=1 + v.shape[-1],
    )


def _on_unit_ball(points: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """A centre, the largest distance from it, and the points (d, n) seen so."""
    centre, radius = _centre(points)
    scale = torch.where(radius > 0, radius, 1.0)
    return centre, radius, ((points - centre) / scale).mT.contiguous()


def _centre(points: Tensor) -> tuple[Tensor, Tensor]:
    """The mean or the middle of the box, whichever has the points nearer, and how near."""
    box = (points.amin(dim=0) + points.amax(dim=0)) / 2
    centres = torch.stack([points.mean(dim=0), box])
    distances = torch.stack([_longest(points - centre) for centre in centres])
    nearer = distances.argmin()
    return centres[nearer], distances[nearer]


def _gathered(chosen: Plan, y: Tensor, values: Tensor) -> Tensor:
    """The moments of the keys times the coefficients, of shape (outer, inner times columns)."""
    moments = y.new_zeros(chosen.outer.size, chosen.inner.size * len(values))
    for part, outer, inner in _monomials(chosen, y):
        columns = (inner[:, None] * values[:, part]).flatten(0, 1)
        for rows, width in _by_degree(chosen, len(values)):
            moments[rows, :width].addmm_(outer[rows], columns[:width].mT)
    factors = torch.from_numpy(chosen.coefficients).to(y)
    return moments * factors.repeat_interleave(len(values), dim=1)


def _evaluated(chosen: Plan, x: Tensor, moments: Tensor) -> Tensor:
    """The sums (columns, queries) at the queries."""
    count = moments.shape[1] // chosen.inner.size
    totals = x.new_empty(count, x.shape[1])
    for part, outer, inner in _monomials(chosen, x):
        columns = x.new_zeros(moments.shape[1], outer.shape[1])
        for rows, width in _by_degree(chosen, count):
            columns[:width].addmm_(moments[rows, :width].mT, outer[rows])
        torch.sum(columns.unflatten(0, (-1, count)) * inner[:, None], dim=0, out=totals[:, part])
    return totals


def _monomials(chosen: Plan, points: Tensor) -> Iterator[tuple[slice, Tensor, Tensor]]:
    """Some tokens at a time with the monomials of their first and last coordinates."""
    d, n, block = chosen.outer.d, points.shape[1], min(chosen.block, points.shape[1])
    outer, inner = (points.new_empty(side.size, block) for side in (chosen.outer, chosen.inner))
    for start in range(0, n, block):
        part = slice(start, min(start + block, n))
        some, width = points[:, part], part.stop - start
        first = chosen.outer.write(some[:d], outer[:, :width])
        yield part, first, chosen.inner.write(some[d:], inner[:, :width])


def _by_degree(chosen: Plan, columns: int) -> Iterator[tuple[slice, int]]:
    """The outer monomials of each degree, and how many columns of inner ones complete them."""
    starts, ends = chosen.outer.starts, chosen.inner.starts
    for degree in range(chosen.outer.degree + 1):
        rows = slice(starts[degree], starts[degree + 1])
        yield rows, ends[chosen.outer.degree - degree + 1] * columns


def _longest(points: Tensor) -> Tensor:
    return torch.linalg.vector_norm(points, dim=-1).max()
