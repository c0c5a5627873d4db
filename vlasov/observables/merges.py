"""Which clusters merged when: the merge tree of a recorded run.

A cluster keeps its number from frame to frame as long as it holds the same tokens. Clusters that
come to share a component become a new one (a merge); one whose tokens come to lie in several
components is replaced by those (a split). A merge is known to have happened after one frame and
not later than the next.
"""

__all__ = ["CHAINED", "Merge", "MergeTree", "Split", "merge_tree"]

import math
from collections import defaultdict
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from vlasov.cloud import Cloud
from vlasov.errors import ShapeMismatch
from vlasov.observables.clusters import cluster_labels, longest_cluster

CHAINED = 3.0
"""A cluster longer than this many radii is reported as a chain."""


@dataclass(frozen=True)
class Merge:
    """Clusters that became one, between the times `after` (not included) and `time`."""

    after: float
    time: float
    clusters: tuple[int, ...]
    masses: tuple[float, ...]
    into: int


@dataclass(frozen=True)
class Split:
    """A cluster whose tokens came to lie in several, between the times `after` and `time`."""

    after: float
    time: float
    cluster: int
    into: tuple[int, ...]
    masses: tuple[float, ...]


@dataclass(frozen=True)
class MergeTree:
    """Clusters of a run with their merges and splits; leaves are the clusters of the first frame.

    `counts` is the number of clusters of each frame, `chaining` the length of its longest cluster
    over the radius.
    """

    radius: float
    times: tuple[float, ...]
    leaves: tuple[int, ...]
    merges: tuple[Merge, ...]
    splits: tuple[Split, ...]
    counts: tuple[int, ...]
    chaining: tuple[float, ...]

    @property
    def chained_from(self) -> float | None:
        """The first time at which some cluster is a chain, longer than `CHAINED` radii."""
        pairs = zip(self.times, self.chaining, strict=True)
        return next((time for time, ratio in pairs if ratio > CHAINED), None)


def merge_tree(
    times: Float[Tensor, " moments"],
    points: Float[Tensor, "frames n d"],
    log_weights: Float[Tensor, " n"] | None = None,
    *,
    radius: float,
) -> MergeTree:
    """The clusters of recorded frames, how they merged and when.

    Frames from the first one that is not finite are left out. Tokens of weight zero are not part
    of a cluster.

    Raises:
        ShapeMismatch: if times and frames differ in number.
        InvalidValue: for a radius that is not positive.
    """
    if len(times) != len(points):
        raise ShapeMismatch(
            f"A merge tree needs one time for each frame but got {len(times)} times and "
            f"{len(points)} frames. For a `Run` use `run.point_times` with `run.points`."
        )
    if log_weights is None:
        log_weights = points.new_full(points.shape[1:2], -math.log(points.shape[1]))
    finite = points.isfinite().all(-1).all(-1).to(torch.int64).cumprod(0)
    tracker = _Tracker(radius, log_weights)
    for time, x in zip(times.tolist(), points[: int(finite.sum())], strict=False):
        tracker.advance(time, x)
    return tracker.tree()


class _Tracker:
    """Follows the clusters from frame to frame; holds one number per token and the events."""

    def __init__(self, radius: float, log_weights: Tensor) -> None:
        self.radius, self.log_w = radius, log_weights
        self.weights = log_weights.exp()
        self.times: list[float] = []
        self.lengths: list[float] = []
        self.counts: list[int] = []
        self.merges: list[Merge] = []
        self.splits: list[Split] = []
        self.leaves: tuple[int, ...] = ()
        self.nodes = torch.empty(0, dtype=torch.int64)
        self.fresh = 0

    def advance(self, time: float, x: Tensor) -> None:
        """Take in one frame."""
        labels = cluster_labels(Cloud.from_log_weights(x, self.log_w), self.radius)
        there = labels >= 0
        self.counts.append(int(labels.max()) + 1)
        self.lengths.append(float(longest_cluster(x[there], labels[there])))
        if not self.times:
            self.nodes, self.fresh = labels[there], self.counts[0]
            self.leaves = tuple(range(self.fresh))
        self._compare(time, labels[there], self.weights[there])
        self.times.append(time)

    def _compare(self, time: float, labels: Tensor, weights: Tensor) -> None:
        """Number the clusters of a frame and note what became of the former ones."""
        shared = _shared(self.nodes, labels, weights)
        parents: dict[int, list[int]] = defaultdict(list)
        children: dict[int, list[int]] = defaultdict(list)
        for node, label in shared:
            parents[label].append(node)
            children[node].append(label)
        number = {label: self._number(parents[label], children) for label in sorted(parents)}
        after = self.times[-1] if self.times else time
        for label, nodes in parents.items():
            if len(nodes) > 1:
                masses = tuple(shared[node, label] for node in nodes)
                self.merges.append(Merge(after, time, tuple(nodes), masses, number[label]))
        for node, found in children.items():
            if len(found) > 1:
                masses = tuple(shared[node, label] for label in found)
                into = tuple(number[label] for label in found)
                self.splits.append(Split(after, time, node, into, masses))
        self.nodes = torch.tensor([number[label] for label in sorted(number)])[labels]

    def _number(self, parents: list[int], children: dict[int, list[int]]) -> int:
        if len(parents) == 1 and len(children[parents[0]]) == 1:
            return parents[0]
        self.fresh += 1
        return self.fresh - 1

    def tree(self) -> MergeTree:
        """What was seen so far."""
        return MergeTree(
            radius=self.radius,
            times=tuple(self.times),
            leaves=self.leaves,
            merges=tuple(self.merges),
            splits=tuple(self.splits),
            counts=tuple(self.counts),
            chaining=tuple(length / self.radius for length in self.lengths),
        )


def _shared(nodes: Tensor, labels: Tensor, weights: Tensor) -> dict[tuple[int, int], float]:
    """The weight that nodes and clusters of the next frame have in common, by first tokens."""
    count = int(labels.max()) + 1
    pairs, which = torch.unique(nodes.to(labels) * count + labels, return_inverse=True)
    masses = weights.new_zeros(len(pairs)).index_add(0, which, weights)
    tokens = torch.arange(len(which), device=which.device)
    order = torch.full_like(pairs, len(which)).scatter_reduce(0, which, tokens, "amin").argsort()
    found = zip(pairs[order].tolist(), masses[order].tolist(), strict=True)
    return {divmod(pair, count): mass for pair, mass in found}
