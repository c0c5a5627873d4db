"""Clouds of n tokens beside their limit: what is measured of a block of clouds."""

__all__ = ["Study", "study_of"]

import math
from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from vlasov.attention import Hardmax, HeadMixture
from vlasov.cloud import Cloud
from vlasov.errors import Unsupported
from vlasov.experiments.converge_config import ConvergeConfig
from vlasov.experiments.converge_distances import conditional, journeys, line_distances
from vlasov.experiments.converge_errors import moment_errors
from vlasov.experiments.converge_moments import like, positions
from vlasov.experiments.converge_reference import (
    FlowReference,
    QuantisedReference,
    Reference,
    reference_of,
)
from vlasov.experiments.converge_source import Source, source_of
from vlasov.experiments.equation import equation_of
from vlasov.geometry import Euclid, Sphere
from vlasov.pde import TransformerPDE, velocity
from vlasov.solve import simulate

_TOKENS = 2**16  # of the clouds moved in one call
_WIDE = 4  # width from which the bias of empirical distances is shown
_JOURNEYS = 5


@dataclass(frozen=True, eq=False)
class Study:
    """An equation, the law its tokens start from, and their limit."""

    config: ConvergeConfig
    pde: TransformerPDE
    source: Source
    reference: Reference

    @property
    def on_line(self) -> bool:
        """Whether distances are found by sorting."""
        return self.config.d == 1 and isinstance(self.pde.geometry, Euclid)

    @property
    def on_circle(self) -> bool:
        """Whether distances are those of the circle."""
        return self.config.d == 2 and isinstance(self.pde.geometry, Sphere)

    @property
    def reference_errors(self) -> Mapping[str, float]:
        """Estimates of the errors of the limit itself, by name; none where it is exact."""
        limit, config = self.reference, self.config
        if not (isinstance(limit, QuantisedReference) and (self.on_line or self.on_circle)):
            return limit.errors
        half, full = (self._wide(x).flatten(0, 1) for x in (limit.half_points, limit.points))
        gap = conditional(half, full, limit.groups, config.p, self.pde.geometry)
        return {**limit.errors, "distance": gap}

    @property
    def compared(self) -> str:
        """What clouds are at a distance from, in words."""
        return "the limit" if self.on_line or self.on_circle else "draws of the limit"

    @property
    def wide(self) -> bool:
        """Whether the bias of empirical distances is worth a picture, and the truth is known."""
        return self.config.d >= _WIDE and isinstance(self.reference, FlowReference)

    def blocks(self, n: int) -> list[range]:
        """The clouds of n tokens, in blocks that are moved together."""
        size, clouds = max(_TOKENS // n, 1), self.config.clouds(n)
        return [range(first, min(first + size, clouds)) for first in range(0, clouds, size)]

    def measure(self, n: int, block: range) -> dict[str, Tensor]:
        """The errors of the clouds of a block; NaN for one that ends before the limit."""
        start = self._start(n, block, stream=0)
        end, carried = self._end(start), self.reference.carry(start)
        x = self._wide(end)
        found = moment_errors(x, carried.to(x), self.reference.moments)
        found["distance"] = self._distances(x, n, block)
        before = self._wide(start)
        if n == self.config.ns[0]:
            found["before"], found["after"] = self._pairs(before, x, block)
            found["radius"] = before.norm(dim=-1).amax(-1)
        if self.wide:
            count = sum(k < _JOURNEYS for k in block)
            found["journey"], found["moment_journey"] = journeys(before[:count], x[:count])
        return found

    def _wide(self, x: Tensor) -> Tensor:
        """The points in fp64 on the CPU, on the geometry to all its digits."""
        return self.pde.geometry.retract(x.to(device="cpu", dtype=torch.float64))

    def _start(self, n: int, block: range, *, stream: int) -> Tensor:
        """Tokens of each cloud from numbers of its own."""
        seed = self.config.seed
        drawn = [self.source.draw(n, (seed, n, k, stream)) for k in block]
        return torch.stack(drawn).to(like(self.config))

    def _end(self, start: Tensor) -> Tensor:
        config = self.config
        places = None
        if config.mask is not None:
            places = positions(start.shape[-2], self.reference.groups, start)
        run = simulate(
            self.pde, Cloud(start, positions=places), until=config.time, step=config.step,
            integrator=config.integrator, keep="last",
        )  # fmt: skip
        lost = torch.tensor([status != "finished" for status in run.member_status])
        return run.points[-1].masked_fill(lost.to(start.device)[:, None, None], math.nan)

    def _distances(self, x: Tensor, n: int, block: range) -> Tensor:
        """To the limit; off the line of the first clouds only."""
        p, geometry = self.config.p, self.pde.geometry
        if self.on_line:
            return line_distances(x, self.reference.points, p)
        count = sum(k < self.config.distance_seeds for k in block)
        if count == 0:
            return torch.zeros(0, dtype=torch.float64)
        others = self._others(n, block[:count])
        groups = self.reference.groups
        pairs = zip(x[:count], others, strict=True)
        found = [
            conditional(a, b, groups, p, geometry) if bool(a.isfinite().all()) else math.nan
            for a, b in pairs
        ]
        return torch.tensor(found, dtype=torch.float64)

    def _others(self, n: int, block: range) -> Tensor:
        """What clouds are compared with: on the circle the limit, else fresh draws carried."""
        if self.on_circle:
            limit = self._wide(self.reference.points)
            return limit.flatten(0, 1).expand(len(block), -1, -1)
        return self._wide(self.reference.carry(self._start(n, block, stream=1)))

    def _pairs(self, start: Tensor, end: Tensor, block: range) -> tuple[Tensor, Tensor]:
        """The distance of two clouds at the start and at the end, for pairs of neighbours."""
        count = sum(k < self.config.distance_seeds for k in block) // 2
        groups, p, geometry = self.reference.groups, self.config.p, self.pde.geometry
        firsts = [j for j in range(0, 2 * count, 2) if bool(end[j : j + 2].isfinite().all())]
        before, after = (
            [conditional(x[j], x[j + 1], groups, p, geometry) for j in firsts]
            for x in (start, end)
        )
        double = torch.float64
        return torch.tensor(before, dtype=double), torch.tensor(after, dtype=double)


def study_of(config: ConvergeConfig) -> Study:
    """Everything that the settings name, checked on a few tokens.

    Raises:
        VlasovError: for whatever cannot be built or has no limit, in one sentence.
    """
    pde = equation_of(config, geometry=config.geometry, engine=config.engine)
    members = pde.attention.members if isinstance(pde.attention, HeadMixture) else [pde.attention]
    if any(isinstance(one, Hardmax) for one in members):
        raise Unsupported(
            "Hardmax attention jumps with the farthest token, so clouds of it have no mean-field "
            "limit. Use softmax attention with a large beta."
        )
    if pde.momentum is not None:
        raise Unsupported("Momentum has no limit to compare with here. Drop the term 'momentum'.")
    source = source_of(config)
    few = source.draw(2, (config.seed,)).to(like(config))
    velocity(pde, Cloud(few, positions=positions(2, 2, few)))
    return Study(config, pde, source, reference_of(pde, source, config))
