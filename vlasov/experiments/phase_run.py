"""The experiment behind `vlasov phase`: how covariances end, over parameters or random draws."""

__all__ = ["PHASE"]

import dataclasses
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from vlasov.errors import InvalidValue, Unsupported
from vlasov.experiments.equation import equation_of
from vlasov.experiments.experiment import Context, Experiment, Job
from vlasov.experiments.phase_cells import Cells, cells_of
from vlasov.experiments.phase_config import PhaseConfig
from vlasov.experiments.phase_ends import KINDS, Ends, Follow, ends_of, followed
from vlasov.experiments.phase_law import blow_up_note
from vlasov.experiments.phase_tables import cell_table, outcome_table
from vlasov.experiments.report import Report
from vlasov.pde import TransformerPDE
from vlasov.reduction.classify import Rule

_TOKENS = 64


@dataclass(frozen=True, eq=False)
class _Study:
    """Everything that the settings name; `points` of clouds, None where systems are reduced."""

    config: PhaseConfig
    pde: TransformerPDE
    cells: Cells
    follow: Follow
    points: Tensor | None

    def ends(self, part: Tensor, follow: Follow) -> Ends:
        systems = self.cells.systems.part(part)
        if self.points is None:
            return ends_of(self.pde, systems, follow)
        return followed(self.pde, systems, self.points, follow)

    def probe(self) -> None:
        """Refuse what cannot be followed, by one system over a short time."""
        short = dataclasses.replace(self.follow, until=1e-6 * self.follow.until, max_steps=1)
        self.ends(torch.tensor([0]), short)

    def report(self, context: Context) -> Report:
        groups = self.cells.groups(self.config.chunk)
        pieces = context.pieces(len(groups))
        found = [
            pieces.get(f"cells-{k}", lambda part=part: self.ends(part, self.follow))
            for k, part in enumerate(groups)
        ]
        order = torch.cat(groups).argsort()
        ends = {name: torch.cat([one[name] for one in found])[order] for name in found[0]}
        table = cell_table(self.cells, ends)
        counts = outcome_table(table, random=not self.cells.grid)
        return Report(
            self._result(ends),
            {"cells": table, "outcomes": counts},
            {} if self.cells.values else _arrays(self.cells),
            self._notes(ends),
        )

    def _result(self, ends: Mapping[str, Tensor]) -> dict[str, Any]:
        rule = self.follow.rule
        counts = Counter(KINDS[kind] for kind in ends["kind"].tolist())
        total = len(ends["kind"])
        listed = ", ".join(f"{count} {kind}" for kind, count in counts.most_common())
        tokens = None if self.points is None else len(self.points)
        return {
            "status": "finished",
            "message": f"Of {total} systems: {listed}.",
            "attention": self.pde.attention.name,
            "systems": total,
            "followed_as": "Gaussian laws" if tokens is None else f"clouds of {tokens} tokens",
            "axes": [dataclasses.asdict(axis) for axis in self.cells.axes],
            "grid": self.cells.grid,
            "time": self.config.time,
            "converged_speed": rule.speed,
            "diverged_growth": rule.levels[1],
            "rank_share": rule.share,
            "rank_floor": rule.floor,
        }

    def _notes(self, ends: Mapping[str, Tensor]) -> tuple[str, ...]:
        rule, late = self.follow.rule, int((ends["kind"] == KINDS.index("still moving")).sum())
        notes = [
            f"Converged: |Sigma'|_F below {rule.speed:g} of the trace at the start, per unit of "
            f"time, at {self.config.time / 100:g}, {self.config.time / 10:g} or "
            f"{self.config.time:g}. Diverged: the trace grew {rule.levels[1]:g} times. Rank: "
            f"eigenvalues above {rule.share:g} of the trace at the end and {rule.floor:g} of that "
            "at the start."
        ]
        if late:
            early = int(
                (ends["time"] < self.config.time)[
                    ends["kind"] == KINDS.index("still moving")
                ].sum()
            )
            notes.append(
                f"{late} still move; limits are approached as 1/t, so a longer --time settles "
                f"most of them. {early} of them ran out of --max-steps before the end time."
            )
        law = blow_up_note(self.pde, self.cells.systems, ends, self.config.time)
        if law is not None and self.points is None:
            notes.append(law)
        return tuple(notes)


def _prepare(config: PhaseConfig) -> Job:
    pde = equation_of(config)
    cells = cells_of(config, pde)
    rule = dataclasses.replace(Rule(), speed=config.speed)
    follow = Follow(config.time, config.rtol, config.max_steps, config.positions, rule)
    study = _Study(config, pde, cells, follow, None)
    if config.n is not None and (pde.noise is not None or cells.systems.diffusion is not None):
        raise InvalidValue(
            "Clouds under noise need fixed steps, and a phase diagram takes adaptive ones. Drop "
            "--n where the law can be reduced, or drop the noise."
        )
    if config.n is not None:
        study = dataclasses.replace(study, points=_points(config, cells))
    try:
        study.probe()
    except Unsupported as refusal:
        if config.n is not None:
            raise
        if config.mask is not None or config.noise is not None or config.terms:
            raise Unsupported(f"{refusal} With --n 64 small clouds are followed.") from None
        study = dataclasses.replace(study, points=_points(config, cells))
        study.probe()
    return study.report


def _points(config: PhaseConfig, cells: Cells) -> Tensor:
    """Random tokens, moved and turned so that their mean is 0 and their covariance I."""
    generator = torch.Generator().manual_seed(config.seed)
    count = config.n or max(_TOKENS, 2 * config.d)
    raw = torch.randn(count, config.d, generator=generator, dtype=torch.float64)
    raw = raw - raw.mean(0)
    root = torch.linalg.cholesky(raw.mT @ raw / count)
    return torch.linalg.solve_triangular(root, raw.mT, upper=False).mT.to(cells.systems.mean)


def _arrays(cells: Cells) -> dict[str, Tensor]:
    """The matrices of an ensemble: no parameters name them."""
    return {
        name: one.cpu() for name, one in (*cells.systems.maps.items(), ("cov", cells.systems.cov))
    }


PHASE = Experiment(
    "phase",
    PhaseConfig,
    _prepare,
    presets={
        "temperature": {"x": "beta=-3:3:41", "y": "v2=-2:2:41", "hold": ("angle=30,a2=-0.5",)},
        "draws": {"random": 1000, "ensemble": "gram"},
    },
)
