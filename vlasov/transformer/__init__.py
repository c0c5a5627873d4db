"""The discrete Transformer: the particle system stepped by Euler, under its stabilisers."""

from vlasov.transformer.as_pde import AlongDepth, pde_of
from vlasov.transformer.attention_layer import AttentionLayer
from vlasov.transformer.block import Block
from vlasov.transformer.config import TransformerConfig
from vlasov.transformer.diffusion import DiffusionLayer
from vlasov.transformer.diffusion_settings import Diffusion
from vlasov.transformer.embedding import byte_tokens
from vlasov.transformer.insertion import POSITIONS_OF_DIFFUSION, Diffusions
from vlasov.transformer.model import Transformer
from vlasov.transformer.norms import NORMS, NormScheme
from vlasov.transformer.perceptron import PerceptronLayer
from vlasov.transformer.stabilisers import SCALES, Stabilisers
from vlasov.transformer.tower import random_tower

__all__ = [
    "NORMS",
    "POSITIONS_OF_DIFFUSION",
    "SCALES",
    "AlongDepth",
    "AttentionLayer",
    "Block",
    "Diffusion",
    "DiffusionLayer",
    "Diffusions",
    "NormScheme",
    "PerceptronLayer",
    "Stabilisers",
    "Transformer",
    "TransformerConfig",
    "byte_tokens",
    "pde_of",
    "random_tower",
]
