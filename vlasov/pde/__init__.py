"""The equation: one description, translated into velocity fields."""

from vlasov.pde.dedrifted import DeDrifted, dedrifted
from vlasov.pde.noise import NOISES, Common, Independent, Noise
from vlasov.pde.probe import attention_matrix, velocity
from vlasov.pde.terms import (
    TERMS,
    Decay,
    LinearTerm,
    Momentum,
    Perceptron,
    RandomPerceptron,
    Term,
)
from vlasov.pde.transformer_pde import TransformerPDE

__all__ = [
    "NOISES",
    "TERMS",
    "Common",
    "DeDrifted",
    "Decay",
    "Independent",
    "LinearTerm",
    "Momentum",
    "Noise",
    "Perceptron",
    "RandomPerceptron",
    "Term",
    "TransformerPDE",
    "attention_matrix",
    "dedrifted",
    "velocity",
]
