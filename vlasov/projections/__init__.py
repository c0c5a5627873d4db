"""What the heads apply to the tokens: constant, callable, given per layer or redrawn maps."""

from vlasov.projections.along_depth import LayeredProjections, RedrawnProjections
from vlasov.projections.per_head import MapOfTime, ParameterPath, Projections

__all__ = [
    "LayeredProjections",
    "MapOfTime",
    "ParameterPath",
    "Projections",
    "RedrawnProjections",
]
