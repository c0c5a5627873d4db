"""Shape aliases: one name per mathematical object, ``*batch`` in front."""

from jaxtyping import Bool, Float
from torch import Tensor

__all__ = [
    "Covariance",
    "KeyLogits",
    "Keys",
    "LogWeights",
    "Matrix",
    "Points",
    "Positions",
    "Queries",
    "Values",
    "Visible",
]

Points = Float[Tensor, "*batch n d"]
LogWeights = Float[Tensor, "*batch n"]
Positions = Float[Tensor, "*batch n"]
Covariance = Float[Tensor, "*batch d d"]
Matrix = Float[Tensor, "*batch rows columns"]
Queries = Float[Tensor, "*#batch nq k"]
Keys = Float[Tensor, "*#batch nk k"]
Values = Float[Tensor, "*#batch nk dv"]
KeyLogits = Float[Tensor, "*#batch nk"]
Visible = Bool[Tensor, "*#batch nq nk"]
