"""The mean-field limit that clouds are compared with: an affine flow, or a large cloud."""

__all__ = ["BEYOND", "FlowReference", "QuantisedReference", "Reference", "reference_of"]

import abc
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor

from vlasov.cloud import Cloud
from vlasov.errors import Unsupported
from vlasov.experiments.converge_config import ConvergeConfig
from vlasov.experiments.converge_errors import moment_gaps
from vlasov.experiments.converge_field import carried
from vlasov.experiments.converge_moments import PHASE, Moments, like, moments, positions
from vlasov.experiments.converge_source import Source
from vlasov.gaussian import Affine, Gaussian
from vlasov.pde import TransformerPDE
from vlasov.reduction import Reduction, reduce

BEYOND = 0.6
"""The share of the time to a blow-up up to which finite clouds follow their limit (spec 5)."""

_NODES = 2**16  # points that stand for a Gaussian
_FRAMES = 41


class Reference(abc.ABC):
    """The limit law at the end, position by position, and the flow that carries tokens to it.

    Moments and points are in fp64 on the CPU.
    """

    name: ClassVar[str]
    groups: int

    @abc.abstractmethod
    def carry(self, x: Float[Tensor, "s n d"]) -> Float[Tensor, "s n d"]:
        """Tokens of clouds, sorted by position, moved by the limit."""

    @property
    @abc.abstractmethod
    def moments(self) -> Moments:
        """Moments of the law at the end."""

    @property
    @abc.abstractmethod
    def points(self) -> Float[Tensor, "g m d"]:
        """Points of equal weight that stand for the law at the end, at each position."""

    @property
    def errors(self) -> Mapping[str, float]:
        """Estimates of the errors of the reference itself, by name; none where it is exact."""
        return {}


@dataclass(frozen=True, eq=False)
class FlowReference(Reference):
    """A Gaussian law under an equation that keeps it Gaussian; the same at every position."""

    source: Source
    reduction: Reduction
    time: float
    groups: int
    name: ClassVar[str] = "flow"

    @property
    def law(self) -> Gaussian:
        """The law at the end."""
        return self.reduction.at(self.time)

    def carry(self, x: Tensor) -> Tensor:
        """One affine map for all."""
        flow = self.reduction.flow_at(self.time)
        return Affine(flow.matrix.to(x), flow.offset.to(x))(x)

    @property
    def moments(self) -> Moments:
        """In closed form."""
        law, g = self.law, self.groups
        spread = law.factor.sum(-2).square().sum() / law.d
        centre = law.mean.sum() / math.sqrt(law.d) - PHASE
        cosine = torch.cos(centre) * torch.exp(-spread / 2)
        return Moments(law.mean.expand(g, -1), law.cov.expand(g, -1, -1), cosine.expand(g))

    @property
    def points(self) -> Tensor:
        """Many quantiles on the line; evenly placed points elsewhere."""
        return self.carry(self.source.nodes(_NODES)[None]).expand(self.groups, -1, -1)


@dataclass(frozen=True, eq=False)
class QuantisedReference(Reference):
    """A large cloud of evenly placed tokens; others are carried in its field."""

    pde: TransformerPDE
    source: Source
    config: ConvergeConfig
    groups: int
    name: ClassVar[str] = "quantised"

    def carry(self, x: Tensor) -> Tensor:
        """As passive tokens, all in one pass."""
        places = positions(x.shape[-2], self.groups, x)
        passive = Cloud(x.flatten(0, 1), positions=places.repeat(len(x)))
        _, moved = self._moved(self._start(self.config.reference_size), passive)
        return moved.unflatten(0, x.shape[:2])

    @property
    def moments(self) -> Moments:
        """Of the cloud at the end."""
        return moments(self.points)

    @property
    def points(self) -> Tensor:
        """The cloud at the end."""
        return self._end

    @property
    def errors(self) -> Mapping[str, float]:
        """How far the moments are from those of a cloud of half the size."""
        gaps = moment_gaps(moments(self.half_points), self.moments)
        return {name: float(gap) for name, gap in gaps.items()}

    @cached_property
    def _end(self) -> Tensor:
        return self._end_of(self.config.reference_size)

    @cached_property
    def half_points(self) -> Tensor:
        """Those of a cloud of half the size."""
        return self._end_of(self.config.reference_size // 2)

    def _start(self, size: int) -> Cloud:
        count = max(size // self.groups, 1)
        nodes = self.source.nodes(count).to(like(self.config)).repeat(self.groups, 1)
        return Cloud(nodes, positions=positions(len(nodes), self.groups, nodes))

    def _end_of(self, size: int) -> Tensor:
        cloud = self._start(size)
        few = Cloud(cloud.points[:1], positions=positions(1, 1, cloud.points))
        end, _ = self._moved(cloud, few)
        return end.unflatten(0, (self.groups, -1)).to(device="cpu", dtype=torch.float64)

    def _moved(self, cloud: Cloud, passive: Cloud) -> tuple[Tensor, Tensor]:
        config = self.config
        return carried(
            self.pde,
            cloud,
            passive,
            until=config.time,
            step=config.step,
            integrator=config.integrator,
        )


def reference_of(pde: TransformerPDE, source: Source, config: ConvergeConfig) -> Reference:
    """The limit that the settings ask for.

    Raises:
        Unsupported: for a flow where Gaussians do not stay Gaussian.
        InvalidValue: for a time at which the limit does not exist.
    """
    groups = 1 if config.mask is None else config.groups
    obstacle = _no_flow(pde, source)
    if config.reference == "quantised" or (config.reference == "auto" and obstacle is not None):
        return QuantisedReference(pde, source, config, groups)
    if obstacle is not None or source.gaussian is None:
        raise Unsupported(f"No affine flow carries the law: {obstacle} Use reference=quantised.")
    times = [config.time * k / (_FRAMES - 1) for k in range(1, _FRAMES)]
    reduction = reduce(
        pde, source.gaussian, until=config.time / BEYOND, save_at=times, positions="independent"
    )
    reduction.at(config.time)  # refuses a time at which there is no limit
    return FlowReference(source, reduction, config.time, groups)


def _no_flow(pde: TransformerPDE, source: Source) -> str | None:
    """Why the limit is no Gaussian carried by a flow; None where it is."""
    if source.gaussian is None:
        return f"it starts as '{source.law.name}', which is no Gaussian."
    try:
        field = pde.gaussian_field(source.gaussian, positions="independent")
        field(0.0, field.initial(0.0))
    except Unsupported as error:
        return str(error)
    return None
