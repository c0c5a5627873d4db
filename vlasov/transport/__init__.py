"""Distances between measures; the only part that knows POT."""

from vlasov.transport.conditional import conditional_distance
from vlasov.transport.entropic import debiased_distance, entropic_distance
from vlasov.transport.gaussian import bures_wasserstein, bures_wasserstein_squared
from vlasov.transport.gaussian_path import gaussian_geodesic, gaussian_map
from vlasov.transport.lower_bound import gelbrich, moments
from vlasov.transport.max_sliced import max_sliced
from vlasov.transport.result import Distance
from vlasov.transport.sliced import sliced
from vlasov.transport.spherical import spherical_sliced
from vlasov.transport.to_gaussian import to_gaussian
from vlasov.transport.twisted import TwistedPath, path_length, twisted_geodesic
from vlasov.transport.twisted_metric import TwistedMetric, twisted_metric
from vlasov.transport.wasserstein import METHODS, distance, wasserstein

__all__ = [
    "METHODS",
    "Distance",
    "TwistedMetric",
    "TwistedPath",
    "bures_wasserstein",
    "bures_wasserstein_squared",
    "conditional_distance",
    "debiased_distance",
    "distance",
    "entropic_distance",
    "gaussian_geodesic",
    "gaussian_map",
    "gelbrich",
    "max_sliced",
    "moments",
    "path_length",
    "sliced",
    "spherical_sliced",
    "to_gaussian",
    "twisted_geodesic",
    "twisted_metric",
    "wasserstein",
]
