"""When a simulation stops, or notes that something happened: conditions on a token cloud."""

__all__ = ["STOPS", "BlowUp", "Collapse", "Custom", "Merge", "Steady", "Stop", "build_stop"]

import abc
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from vlasov.catalogue import Catalogue
from vlasov.cloud import Cloud
from vlasov.errors import InvalidValue

Measure = Callable[[float | Tensor, Cloud], Tensor]


def _require_positive(value: float, *, name: str) -> None:
    if not value > 0:
        raise InvalidValue(
            f"{name} must be positive but got {value}; give a small positive number."
        )


@dataclass(frozen=True)
class Stop(abc.ABC):
    """A margin over clouds; the condition holds from the time the margin falls to zero.

    `terminal` ends the run there; otherwise the time is noted and the run goes on.
    """

    name: ClassVar[str]

    @abc.abstractmethod
    def margin(self, cloud: Cloud, speed: Callable[[], Tensor]) -> Tensor:
        """Positive while the condition does not hold.

        `speed()` evaluates the velocity field when asked.
        """

    @property
    def ends_run(self) -> bool:
        """Whether the run ends when the condition holds."""
        return True


@dataclass(frozen=True)
class BlowUp(Stop):
    """The largest token norm reaches `threshold`."""

    name: ClassVar[str] = "blow-up"
    threshold: float = 1e12

    def __post_init__(self) -> None:
        _require_positive(self.threshold, name="The blow-up threshold")

    def margin(self, cloud: Cloud, speed: Callable[[], Tensor]) -> Tensor:
        """The distance to the threshold, on a logarithmic scale."""
        return self.distance_to_threshold(cloud)

    def distance_to_threshold(self, cloud: Cloud) -> Tensor:
        """Logarithm of threshold over norm: the norm itself is too steep to interpolate."""
        largest = (
            cloud.points.abs().amax(dim=(-2, -1)).clamp_min(torch.finfo(cloud.points.dtype).tiny)
        )
        return math.log(self.threshold) - torch.log(largest)


@dataclass(frozen=True)
class Collapse(Stop):
    """Every token is within `tolerance` of the mean."""

    name: ClassVar[str] = "collapse"
    tolerance: float = 1e-3

    def __post_init__(self) -> None:
        _require_positive(self.tolerance, name="The collapse tolerance")

    def margin(self, cloud: Cloud, speed: Callable[[], Tensor]) -> Tensor:
        """The distance of the farthest token to the weighted mean, less the tolerance."""
        mean = (cloud.weights[..., None] * cloud.points).sum(dim=-2, keepdim=True)
        return (cloud.points - mean).norm(dim=-1).amax(dim=-1) - self.tolerance


@dataclass(frozen=True)
class Steady(Stop):
    """The fastest token moves slower than `tolerance`."""

    name: ClassVar[str] = "steady"
    tolerance: float = 1e-8

    def __post_init__(self) -> None:
        _require_positive(self.tolerance, name="The steady tolerance")

    def margin(self, cloud: Cloud, speed: Callable[[], Tensor]) -> Tensor:
        """The speed of the fastest token, less the tolerance."""
        return speed().norm(dim=-1).amax(dim=-1) - self.tolerance


@dataclass(frozen=True)
class Merge(Stop):
    """Two tokens that were apart come within `radius`; noted, ends the run only if `terminal`."""

    name: ClassVar[str] = "merge"
    radius: float = 1e-3
    terminal: bool = False

    def __post_init__(self) -> None:
        _require_positive(self.radius, name="The merge radius")

    @property
    def ends_run(self) -> bool:
        """Only if the merge was declared `terminal`."""
        return self.terminal

    def margin(self, cloud: Cloud, speed: Callable[[], Tensor]) -> Tensor:
        """The smallest distance between two tokens, less the radius; infinite for one token."""
        return _closest_pair(cloud.points) - self.radius


@dataclass(frozen=True)
class Custom(Stop):
    """A condition of the user's own: it holds when ``measure(cloud)`` falls to zero."""

    name: ClassVar[str] = "custom"
    label: str
    measure: Callable[[Cloud], Tensor]
    terminal: bool = True

    @property
    def ends_run(self) -> bool:
        """Unless the condition was declared not `terminal`."""
        return self.terminal

    def margin(self, cloud: Cloud, speed: Callable[[], Tensor]) -> Tensor:
        """The user's measure as it is; its zero is the condition."""
        return self.measure(cloud)


STOPS: Catalogue[Stop] = Catalogue("stop", [BlowUp, Collapse, Steady, Merge])


def build_stop(stop: str | Stop) -> Stop:
    """A stop condition from its spec string or object."""
    return STOPS.build(stop) if isinstance(stop, str) else stop


def _closest_pair(x: Tensor) -> Tensor:
    """The smallest distance between two tokens, by a tree: O(n log n) in low dimension."""
    from scipy.spatial import KDTree  # heavy: only when merges are watched

    def closest(points: Tensor) -> float:
        if len(points) < 2:
            return float("inf")
        table = points.detach().cpu().double().numpy()
        return float(KDTree(table).query(table, k=2)[0][:, 1].min())

    flat = x.reshape(-1, *x.shape[-2:])
    distances = [closest(points) for points in flat]
    return torch.tensor(distances, dtype=torch.float64).reshape(x.shape[:-2])
