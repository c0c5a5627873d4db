r"""Weights at the start of training.

.. math:: \text{gaussian: } N(0, 1/m), \qquad \text{he: } N(0, 2/m) \text{ before a ReLU or GELU},
          \qquad m = \text{fan-in}

Source: He et al., arXiv:1502.01852, Eq. (10); Glorot and Bengio (2010), Eq. (16) for ``torch``.
"""

__all__ = ["draw_weights"]

import hashlib
import math

import torch
from torch import Tensor, nn

from vlasov.transformer.attention_layer import AttentionLayer
from vlasov.transformer.embedding import Embedding
from vlasov.transformer.heads import LanguageHead
from vlasov.transformer.perceptron import PerceptronLayer

_GAINED = ("value", "output", "inner", "outer", "gate")
"""Weights that DeepNorm makes smaller at the start."""


@torch.no_grad()
def draw_weights(model: nn.Module, init: str, *, gain: float, seed: int) -> None:
    """Draw every weight in the order of the modules; offsets and gains are left as they are.

    ``torch`` draws what `torch.nn.MultiheadAttention` and `torch.nn.Linear` do. Tables of tokens
    and positions are N(0, 1). `gain` multiplies the value, output and perceptron weights.
    """
    # Salted: tokens drawn from the same seed would be rows of the first matrix.
    digest = hashlib.blake2b(f"weights:{seed}".encode(), digest_size=7).digest()
    generator = torch.Generator().manual_seed(int.from_bytes(digest, "big"))
    for module in model.modules():
        if isinstance(module, AttentionLayer | PerceptronLayer):
            relu = isinstance(module, PerceptronLayer)
            for name, weight in _matrices(module):
                weight.copy_(_drawn(weight, init, generator, before_relu=relu and name != "outer"))
                if name in _GAINED:
                    weight.mul_(gain)
        elif isinstance(module, nn.Linear):
            bound = 1 / math.sqrt(module.in_features)
            module.weight.uniform_(-bound, bound, generator=generator)
            module.bias.zero_()
        elif isinstance(module, Embedding | LanguageHead):
            _draw_tables(module, generator)


def _matrices(module: nn.Module) -> list[tuple[str, Tensor]]:
    return [(name, x) for name, x in module.named_parameters(recurse=False) if x.ndim == 2]


def _drawn(weight: Tensor, init: str, generator: torch.Generator, *, before_relu: bool) -> Tensor:
    """In float64, so that the draw does not depend on the format of the model."""
    rows, columns = weight.shape
    if init == "torch":
        bound = 1 / math.sqrt(columns) if before_relu else math.sqrt(6 / (rows + columns))
        drawn = torch.rand(rows, columns, generator=generator, dtype=torch.float64)
        return (2 * drawn - 1) * bound
    variance = 2 / columns if init == "he" and before_relu else 1 / columns
    drawn = torch.randn(rows, columns, generator=generator, dtype=torch.float64)
    return drawn * math.sqrt(variance)


def _draw_tables(module: nn.Module, generator: torch.Generator) -> None:
    for name, table in module.named_parameters(recurse=False):
        scale = 1 / math.sqrt(table.shape[-1]) if name == "out" else 1.0
        drawn = torch.randn(table.shape, generator=generator, dtype=torch.float64)
        table.copy_(drawn * scale)
