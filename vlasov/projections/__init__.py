"""What the heads apply to the tokens: constant, callable, given per layer or redrawn maps."""

from vlasov.projections.along_depth import LayeredProjections, RedrawnProjections
from vlasov.projections.map_of_time import MapOfTime
from vlasov.projections.path import ParameterPath, QueriesAndKeys
from vlasov.projections.per_head import Projections

__all__ = [
    "LayeredProjections",
    "MapOfTime",
    "ParameterPath",
    "Projections",
    "QueriesAndKeys",
    "RedrawnProjections",
]
