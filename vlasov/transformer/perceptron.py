r"""The MLP branch of a block: parameters, and the local term of the simulator made of them.

.. math:: F(x) = W_2\,\phi(W_1 x + b_1) + b_2, \qquad
          \text{swiglu: } W_2\bigl(\mathrm{silu}(W_g x + b_g) \odot (W_1 x + b_1)\bigr) + b_2
"""

__all__ = ["PerceptronLayer"]

import torch
from torch import nn

from vlasov._shapes import Points
from vlasov.pde import Perceptron, Term
from vlasov.pde.gated import GatedPerceptron
from vlasov.transformer.config import TransformerConfig


class PerceptronLayer(nn.Module):
    """Inner map (m, d), outer map (d, m) and, for ``swiglu``, a gate (m, d)."""

    inner: nn.Parameter
    outer: nn.Parameter
    gate: nn.Parameter
    inner_bias: nn.Parameter | None
    outer_bias: nn.Parameter | None
    gate_bias: nn.Parameter | None

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.activation = config.mlp
        d, m = config.width, config.hidden
        sizes = {"inner": (m, d), "outer": (d, m)}
        sizes |= {"gate": (m, d)} if config.mlp == "swiglu" else {}
        for name, size in sizes.items():
            self.register_parameter(name, nn.Parameter(torch.zeros(size)))
            bias = nn.Parameter(torch.zeros(size[0])) if config.bias else None
            self.register_parameter(f"{name}_bias", bias)

    def term(self) -> Term:
        """The same map as a term of a `TransformerPDE`: views of the parameters."""
        maps = (self.inner, self.outer, self.inner_bias, self.outer_bias)
        if self.activation == "swiglu":
            return GatedPerceptron(*maps, gate=self.gate, gate_bias=self.gate_bias)
        return Perceptron(*maps, activation=self.activation)

    def forward(self, x: Points) -> Points:
        """What every token is moved by, token by token."""
        return self.term().bind(x)(0.0, x)
