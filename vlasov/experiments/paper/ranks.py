r"""Histograms of the rank of limits, under softmax and L2, in dimensions 3, 4, 5.

Q is normal with floor(d/2) rows, K = -Q, V = I or :math:`G^T G`, :math:`\Sigma_0 = H H^T`. The
theory gives :math:`\mathrm{rank}\,\Sigma_\infty = \lceil d/2 \rceil` for V = I, and at most that
for V > 0; smaller counts are an effect of the threshold. Source: spec 2.3, 4.
"""

__all__ = ["Criterion", "Ranks"]

from collections import Counter
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Generator, Tensor

from vlasov.experiments.paper.parameters import Parameters
from vlasov.experiments.paper.request import Request
from vlasov.experiments.paper.variants import equation
from vlasov.experiments.report import Report, Table
from vlasov.gaussian import Gaussian
from vlasov.reduction import reduce
from vlasov.reduction.stationary import covariance_velocity

_UNTIL = 1e4
_STREAM = 500
_TIMES = tuple(np.geomspace(1e-1, _UNTIL, 26).tolist())
_ODDITY = (
    "The scripts leave out ranks above ceil(d/2) as exceptions and draw again where a run has not "
    "converged; here both are rows of the table."
)


@dataclass(frozen=True)
class Criterion:
    """When a covariance has converged, and which of its eigenvalues count.

    Attributes:
        speed: the largest ``|Sigma'|_F``.
        smallest: the smallest eigenvalue that counts.
        relative: both are shares, of the trace at the start and at the end.
        times: when it is asked; a run ends at the first time at which it holds.
        steps: the most between two times: where V is close to singular the field is stiff, and
            such a run ends early, unconverged.
    """

    speed: float
    smallest: float
    relative: bool
    times: tuple[float, ...]
    steps: int

    @classmethod
    def of(cls, variant: str, *, as_published: bool) -> "Criterion":
        """That of the scripts, or one that waits until eigenvalues falling as 1/t are gone."""
        if as_published:
            return cls(5e-5 if variant == "l2" else 1e-4, 0.1, False, _TIMES, 500)
        return cls(1e-6, 1e-2, True, (_UNTIL,), 1500)

    def converged(
        self, speed: Float[Tensor, " n"], start: Float[Tensor, " n"]
    ) -> Bool[Tensor, " n"]:
        """Whether the speed is small; `start` is the trace at the start."""
        return speed < self.speed * (start if self.relative else torch.ones_like(start))

    def rank(self, cov: Float[Tensor, "n d d"]) -> Int[Tensor, " n"]:
        """The number of eigenvalues that count."""
        eigenvalues = torch.linalg.eigvalsh(cov)
        share = eigenvalues.sum(-1, keepdim=True) if self.relative else 1.0
        return (eigenvalues > self.smallest * share).sum(-1)


@dataclass(frozen=True)
class Ranks:
    """The recipe of the histograms."""

    panels: tuple[str, ...] = ("softmax", "l2")
    values: tuple[str, ...] = ("identity", "gram")
    dimensions: tuple[int, ...] = (3, 4, 5)
    draws: int = 100

    def report(self, request: Request) -> Report:
        """One run for each draw of (Q, V, Sigma_0); both variants see the same draws."""
        cells = [(p, v, d) for p in self.panels for v in self.values for d in self.dimensions]
        pieces, count = request.context.pieces(len(cells)), request.size or self.draws
        found = {
            cell: pieces.get(
                "-".join(map(str, cell)), lambda cell=cell: _cell(*cell, count, request)
            )
            for cell in cells
        }
        table = _table(found)
        counted = Counter((*row[:3], *row[4:6]) for row in table.rows)
        counts = Table(
            ("panel", "value", "d", "converged", "rank", "count"),
            tuple((*key, number) for key, number in sorted(counted.items())),
        )
        above = sum(
            int((piece["converged"] & (piece["rank"] > (d + 1) // 2)).sum())
            for (_, _, d), piece in found.items()
        )
        rule = Criterion.of("softmax", as_published=request.as_published)
        shares = "shares of the trace" if rule.relative else "absolute"
        return Report(
            {"view": "ranks", "panels": list(self.panels), "draws": count, "above": above},
            {"ranks": table, "counts": counts},
            {},
            (
                f"{above} of {len(table.rows)} seem to rest above rank ceil(d/2), where there is "
                "no limit: with V close to singular they move more slowly than the threshold.",
                f"Eigenvalues count above {rule.smallest:g} and speeds below {rule.speed:g} "
                f"({shares}; for softmax).",
                *([_ODDITY] if request.as_published else []),
            ),
        )


def _cell(variant: str, value: str, d: int, count: int, request: Request) -> dict[str, Tensor]:
    """How the draws of one (variant, V, d) end; those that have converged are not run on."""
    drawn, start = _drawn(value, d, count, request.generator(_STREAM + d))
    rule = Criterion.of(variant, as_published=request.as_published)
    cov, scale = start.clone(), _trace(start)
    time = torch.zeros_like(scale)
    converged = torch.zeros(count, dtype=torch.bool)
    going, now = torch.arange(count), 0.0
    for then in rule.times:
        pde = equation(variant, drawn.part(going), as_published=request.as_published)
        law = Gaussian(start.new_zeros(len(going), d), cov[going])
        run = reduce(pde, law, start=now, until=then, max_steps=rule.steps)
        cov[going], time[going] = run.final.cov, torch.tensor(run.member_stopped_at).to(time)
        speed = torch.linalg.matrix_norm(covariance_velocity(pde, run.final))
        settled = rule.converged(speed, scale[going])
        converged[going] = settled
        reached = torch.tensor([status == "finished" for status in run.member_status])
        going, now = going[~settled & reached], then
        if not len(going):
            break
    return {"converged": converged, "rank": rule.rank(cov), "trace": _trace(cov), "time": time}


def _trace(cov: Tensor) -> Tensor:
    return cov.diagonal(dim1=-2, dim2=-1).sum(-1)


def _drawn(value: str, d: int, count: int, generator: Generator) -> tuple[Parameters, Tensor]:
    shapes = [(count, d // 2, d), (count, d, d), (count, d, d)]
    query, root, start = (
        torch.randn(shape, generator=generator, dtype=torch.float64) for shape in shapes
    )
    eye = torch.eye(d, dtype=torch.float64).expand(count, d, d)
    values = eye if value == "identity" else root.mT @ root
    return Parameters(query, -query, values), start @ start.mT


def _table(found: dict[tuple[str, str, int], dict[str, Tensor]]) -> Table:
    rows = [
        (*cell, draw, *row)
        for cell, piece in found.items()
        for draw, row in enumerate(
            zip(
                *(piece[key].tolist() for key in ("converged", "rank", "trace", "time")),
                strict=True,
            )
        )
    ]
    return Table(
        ("panel", "value", "d", "draw", "converged", "rank", "trace", "time"), tuple(rows)
    )
