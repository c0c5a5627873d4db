"""The discrete Transformer: the particle system stepped by Euler, under its stabilisers."""

from vlasov.transformer.as_pde import AlongDepth, pde_of
from vlasov.transformer.attention_layer import AttentionLayer
from vlasov.transformer.block import Block
from vlasov.transformer.config import TransformerConfig
from vlasov.transformer.embedding import byte_tokens
from vlasov.transformer.model import Transformer
from vlasov.transformer.norms import NORMS, NormScheme
from vlasov.transformer.perceptron import PerceptronLayer
from vlasov.transformer.stabilisers import SCALES, Stabilisers
from vlasov.transformer.tower import random_tower

__all__ = [
    "NORMS",
    "SCALES",
    "AlongDepth",
    "AttentionLayer",
    "Block",
    "NormScheme",
    "PerceptronLayer",
    "Stabilisers",
    "Transformer",
    "TransformerConfig",
    "byte_tokens",
    "pde_of",
    "random_tower",
]
