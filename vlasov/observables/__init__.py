"""Numbers of a cloud as a measure: moments, extent, clusters, hull, directions."""

from vlasov.catalogue import Catalogue
from vlasov.observables.base import Observable
from vlasov.observables.clusters import Chaining, ClusterMass2, Clusters, cluster_labels
from vlasov.observables.convex import HullVertices, HullVolume
from vlasov.observables.cosines import MeanCosine, MinCosine
from vlasov.observables.extent import Diameter, MaxNorm
from vlasov.observables.histogram import Histogram
from vlasov.observables.merges import Merge, MergeTree, Split, merge_tree
from vlasov.observables.moments import Covariance, Mean
from vlasov.observables.ranks import EffectiveRank, Rank

__all__ = [
    "OBSERVABLES",
    "Chaining",
    "ClusterMass2",
    "Clusters",
    "Covariance",
    "Diameter",
    "EffectiveRank",
    "Histogram",
    "HullVertices",
    "HullVolume",
    "MaxNorm",
    "Mean",
    "MeanCosine",
    "Merge",
    "MergeTree",
    "MinCosine",
    "Observable",
    "Rank",
    "Split",
    "cluster_labels",
    "merge_tree",
]

OBSERVABLES: Catalogue[Observable] = Catalogue(
    "observable",
    [
        Mean,
        Covariance,
        MaxNorm,
        Diameter,
        MeanCosine,
        MinCosine,
        EffectiveRank,
        Rank,
        Clusters,
        ClusterMass2,
        Chaining,
        HullVertices,
        HullVolume,
        Histogram,
    ],
)
