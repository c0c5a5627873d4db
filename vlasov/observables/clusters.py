r"""Clusters: connected components of the graph that links tokens at most `radius` apart.

.. math:: \mathrm{cluster\_mass2} = \sum_c p_c^2, \qquad p_c = \sum_{i \in c} w_i

which on a plateau of the dynamics is the energy over its maximum. Components are single-link: a
chain of tokens, each within the radius of the next, is one cluster however long. `Chaining` tells
by how much.

Source: plateaus of the energy, prediction V20.
"""

__all__ = ["Chaining", "ClusterMass2", "Clusters", "cluster_labels", "cluster_masses"]

from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Float, Int
from torch import Tensor

from vlasov.cloud import Cloud
from vlasov.errors import InvalidValue
from vlasov.observables.base import Observable, per_cloud
from vlasov.observables.farthest import farthest_pair

_RADIUS = 0.1


def _require_radius(radius: float) -> None:
    if not radius > 0:
        raise InvalidValue(
            f"A cluster radius must be positive but got {radius}. Take a length well below the "
            "distance of clusters and above the spacing of tokens inside one."
        )


def cluster_labels(cloud: Cloud, radius: float) -> Int[Tensor, "*batch n"]:
    """The cluster of each token, numbered from 0 by first tokens; -1 for weight zero.

    Distances are in the ambient norm, the chord on a sphere.

    Raises:
        InvalidValue: for a radius that is not positive.

    Example:
        >>> cluster_labels(Cloud([[0.0], [5.0], [0.3]]), radius=0.5).tolist()
        [0, 1, 0]
    """
    _require_radius(radius)
    points = cloud.points.reshape(-1, cloud.n, cloud.d)
    present = cloud.log_weights.reshape(-1, cloud.n) > -torch.inf
    labels = torch.full(present.shape, -1, dtype=torch.int64, device=points.device)
    for x, there, found in zip(points, present, labels, strict=True):
        found[there] = _labels(x[there], radius)
    return labels.reshape(cloud.log_weights.shape)


def _labels(x: Tensor, radius: float) -> Tensor:
    from vlasov.observables.components import component_labels  # scipy: only for clusters

    labels = component_labels(x.detach().cpu().double().numpy(), radius)
    return torch.from_numpy(labels).to(x.device)


def cluster_masses(
    labels: Int[Tensor, " n"], weights: Float[Tensor, " n"]
) -> Float[Tensor, " clusters"]:
    """The weight of each cluster, in the order of the labels."""
    present = labels >= 0
    count = int(labels.max()) + 1
    return weights.new_zeros(count).index_add(0, labels[present], weights[present])


@dataclass(frozen=True)
class _WithRadius(Observable):
    radius: float = _RADIUS

    def __post_init__(self) -> None:
        _require_radius(self.radius)


@dataclass(frozen=True)
class Clusters(_WithRadius):
    """The number of clusters."""

    name: ClassVar[str] = "clusters"

    def measure(self, cloud: Cloud) -> Float[Tensor, "*batch"]:
        """The count, as a floating number."""
        labels = cluster_labels(cloud, self.radius)
        return (labels.amax(-1) + 1).to(cloud.points)


@dataclass(frozen=True)
class ClusterMass2(_WithRadius):
    """The sum of squared cluster masses: 1 for one cluster, 1/k for k equal ones."""

    name: ClassVar[str] = "cluster_mass2"

    def measure(self, cloud: Cloud) -> Float[Tensor, "*batch"]:
        """The chance that two tokens drawn from the cloud share a cluster."""
        return per_cloud(
            cloud, lambda x, w: cluster_masses(_labels(x, self.radius), w).square().sum()
        )


@dataclass(frozen=True)
class Chaining(_WithRadius):
    """The diameter of the longest cluster over `radius`: at most 1 for tight clusters."""

    name: ClassVar[str] = "chaining"

    def measure(self, cloud: Cloud) -> Float[Tensor, "*batch"]:
        """The ratio; 0 where every token stands alone."""
        return per_cloud(
            cloud, lambda x, w: longest_cluster(x, _labels(x, self.radius)) / self.radius
        )


def longest_cluster(x: Float[Tensor, "n d"], labels: Int[Tensor, " n"]) -> Float[Tensor, ""]:
    """The largest diameter of a cluster; clusters in small boxes are left out."""
    sizes = torch.bincount(labels)
    starts, order = sizes.cumsum(0) - sizes, labels.argsort()
    diagonals = _diagonals(x.detach(), labels, len(sizes))
    longest = x.new_zeros(())
    for cluster in diagonals.argsort(descending=True).tolist():
        # rounded boxes: a cluster that is longer by rounding alone may be left out
        if diagonals[cluster] <= longest:
            break
        start = int(starts[cluster])
        first, second = farthest_pair(x[order[start : start + int(sizes[cluster])]])
        longest = torch.maximum(longest, (first - second).norm())
    return longest


def _diagonals(x: Tensor, labels: Tensor, count: int) -> Float[Tensor, " clusters"]:
    """The diagonal of the bounding box of each cluster."""
    rows = labels[:, None].expand_as(x)
    low = x.new_full((count, x.shape[-1]), torch.inf).scatter_reduce(0, rows, x, "amin")
    high = x.new_full((count, x.shape[-1]), -torch.inf).scatter_reduce(0, rows, x, "amax")
    return torch.linalg.vector_norm(high - low, dim=-1)
