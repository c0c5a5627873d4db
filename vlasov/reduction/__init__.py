"""Gaussian laws under the equation: the covariance equation, its closed forms, its outcomes."""

from vlasov.reduction.reduce import reduce
from vlasov.reduction.result import Reduction

__all__ = ["Reduction", "reduce"]
