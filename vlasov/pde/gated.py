r"""A perceptron with a gate: the local reaction of Llama-like networks.

.. math:: W_2\bigl(\mathrm{silu}(W_g x + b_g) \odot (W_1 x + b_1)\bigr) + b_2
"""

__all__ = ["GatedPerceptron"]

from dataclasses import dataclass
from typing import ClassVar

from jaxtyping import Float
from torch import Tensor
from torch.nn import functional

from vlasov._shapes import Points
from vlasov.errors import ShapeMismatch
from vlasov.pde.terms import Force, Term


@dataclass(frozen=True, eq=False)
class GatedPerceptron(Term):
    """Inner map and gate (m, d), outer map (d, m), each with an offset or without.

    Source: Shazeer, GLU variants improve Transformer, arXiv:2002.05202, Eq. (6).

    Raises:
        ShapeMismatch: if the layers do not compose to a map of R^d.
    """

    name: ClassVar[str] = "gated-perceptron"
    inner: Float[Tensor, "m d"]
    outer: Float[Tensor, "d2 m2"]
    inner_bias: Float[Tensor, " m3"] | None
    outer_bias: Float[Tensor, " d3"] | None
    gate: Float[Tensor, "m4 d4"]
    gate_bias: Float[Tensor, " m5"] | None = None

    def __post_init__(self) -> None:
        shapes = {tuple(x.shape) for x in (self.inner, self.outer.mT, self.gate)}
        if len(shapes) > 1:
            raise ShapeMismatch(
                "A gated perceptron needs inner and gate (m, d) and outer (d, m) but got "
                f"{tuple(self.inner.shape)}, {tuple(self.gate.shape)} and "
                f"{tuple(self.outer.shape)}; transpose one of them."
            )

    def bind(self, x: Points) -> Force:
        """The layers moved once to the dtype and device of `x`.

        Raises:
            ShapeMismatch: if they act on another width than that of `x`.
        """
        if self.inner.shape[-1] != x.shape[-1]:
            raise ShapeMismatch(
                f"The perceptron acts on tokens of width {self.inner.shape[-1]} but the cloud has "
                f"width {x.shape[-1]}; build it for that width."
            )
        inner, gate, outer = self.inner.to(x), self.gate.to(x), self.outer.to(x)
        offsets = (self.inner_bias, self.gate_bias, self.outer_bias)
        b_inner, b_gate, b_outer = (None if b is None else b.to(x) for b in offsets)

        def force(t: float | Tensor, x: Tensor) -> Tensor:
            opened = functional.silu(functional.linear(x, gate, b_gate))
            return functional.linear(opened * functional.linear(x, inner, b_inner), outer, b_outer)

        return force
