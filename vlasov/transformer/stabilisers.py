r"""What keeps the layers of a Transformer sane, as one frozen record.

.. math:: x \leftarrow \mathrm{norm}\bigl(x,\; h\, c_l\, F_l\bigr), \qquad
          h = \mathrm{step}, \quad c_l = \text{residual scale of layer } l
"""

__all__ = ["BRANCHES", "SCALES", "Stabilisers"]

import math
from dataclasses import dataclass

from vlasov._fields import require_kinds
from vlasov.catalogue import nearest
from vlasov.errors import InvalidValue
from vlasov.transformer.norms import NORMS, NormScheme

SCALES = ("1/sqrt(L)", "1/L", "rezero", "learned")
"""Residual scales by name; L is the number of layers."""

BRANCHES = ("attention", "mlp")
"""The branches of a block."""

_WORDS = {
    "1/sqrt(L)": "residual branches times 1/√L",
    "1/L": "residual branches times 1/L",
    "rezero": "residual branches times a learned number that starts at 0",
    "learned": "residual branches times a learned number that starts at 1",
}


@dataclass(frozen=True)
class Stabilisers:
    """The switches of an ablation.

    - ``norm``: a scheme of `NORMS` by spec string, such as ``"pre"`` or ``"mix:post=0.25"``;
    - ``residual``: False replaces the state by the branch instead of adding it; ``"attention"`` or
      ``"mlp"`` keeps the residual of that branch only;
    - ``residual_scale``: a number, or one of `SCALES`;
    - ``qk_norm``: queries and keys of each head under an RMS norm;
    - ``shared``: one set of weights for all layers, the time-homogeneous flow;
    - ``step``: time that one layer takes; it multiplies the residual scale.

    Raises:
        UnknownName: for a norm or scale that does not exist.
        InvalidValue: for a scale or step that is not finite, a scaled branch without residual, or
            a field of another type.

    Example:
        >>> Stabilisers(norm="none", residual_scale="1/sqrt(L)").described()
        'no norm; residual branches times 1/√L'
    """

    norm: str = "pre"
    residual: bool | str = True
    residual_scale: float | str = 1.0
    qk_norm: bool = False
    shared: bool = False
    step: float = 1.0

    def __post_init__(self) -> None:
        require_kinds(self)
        NORMS.build(self.norm)
        if isinstance(self.residual_scale, str):
            if self.residual_scale not in SCALES:
                raise nearest(self.residual_scale, SCALES, kind="residual scale")
        elif not math.isfinite(self.residual_scale):
            raise InvalidValue(
                f"A residual scale is a finite number but is {self.residual_scale}; give one, or "
                f"one of {', '.join(SCALES)}."
            )
        if not (math.isfinite(self.step) and self.step > 0):
            raise InvalidValue(f"A step must be above 0 but is {self.step}; 1 is a whole layer.")
        if isinstance(self.residual, str) and self.residual not in BRANCHES:
            raise nearest(self.residual, BRANCHES, kind="branch with a residual")
        if self.residual is False and (self.residual_scale != 1.0 or self.step != 1.0):
            raise InvalidValue(
                f"Without residual a layer has no step to scale but residual_scale is "
                f"{self.residual_scale} and step {self.step}; leave both at 1."
            )
        if self.shared and not self.scheme.same_in_every_layer:
            raise InvalidValue(
                f"Shared weights need one norm for all layers but '{self.norm}' changes along "
                "depth; choose another norm, or shared=False."
            )

    @property
    def scheme(self) -> NormScheme:
        """The norm scheme that the spec string describes."""
        return NORMS.build(self.norm)

    def keeps_residual(self, branch: str) -> bool:
        """Whether ``"attention"`` or ``"mlp"`` is added to the state."""
        return self.residual is True or self.residual == branch

    @property
    def trains_scale(self) -> bool:
        """Whether the residual scale is a parameter."""
        return self.residual_scale in ("rezero", "learned")

    def first_scale(self, depth: int) -> float:
        """The residual scale of a model of `depth` layers; where it is a parameter, its start."""
        named = {"1/sqrt(L)": depth**-0.5, "1/L": 1 / depth, "rezero": 0.0, "learned": 1.0}
        scale = self.residual_scale
        return named[scale] if isinstance(scale, str) else float(scale)

    def described(self) -> str:
        """One line of words: what differs from a bare residual network is named."""
        words = [self.scheme.described()]
        if self.residual is False:
            words.append("no residual")
        elif isinstance(self.residual, str):
            words.append(f"residual around {self.residual} only")
        if isinstance(self.residual_scale, str):
            words.append(_WORDS[self.residual_scale])
        elif self.residual_scale != 1.0:
            words.append(f"residual branches times {self.residual_scale:g}")
        words += ["query-key norm"] if self.qk_norm else []
        words += ["one set of weights for all layers"] if self.shared else []
        words += [f"step {self.step:g}"] if self.step != 1.0 else []
        return "; ".join(words)
