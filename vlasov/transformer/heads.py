"""From the last state to what is asked: one point per sequence, classes, or the next token."""

__all__ = ["Classifier", "LanguageHead", "head_of", "pooled"]

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional

from vlasov._shapes import LogWeights, Points
from vlasov.errors import ShapeMismatch
from vlasov.transformer.config import TransformerConfig
from vlasov.transformer.input_checks import require_format


def pooled(x: Points, log_w: LogWeights, how: str) -> Float[Tensor, "*batch d"]:
    """The weighted ``mean`` of the tokens, the first one (``cls``) or the ``last`` real one."""
    if how == "cls":
        return x[..., 0, :]
    if how == "mean":
        return (log_w.exp().to(x).unsqueeze(-2) @ x).squeeze(-2)
    real = ~log_w.isneginf()
    last = (real * torch.arange(x.shape[-2], device=x.device)).argmax(-1)
    return x.take_along_dim(last[..., None, None], dim=-2).squeeze(-2)


class Classifier(nn.Module):
    """Scores of the classes; of pairs, by a perceptron on ``[a, b, a b, a - b]``.

    Source: the pair of encoders of Tay et al., Long range arena, arXiv:2011.04006, section 2.2.3.
    """

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.width = config.width
        self.pairs = config.head == "two-tower"
        inner = 4 * config.width if self.pairs else config.width
        self.hidden = nn.Linear(inner, config.hidden) if self.pairs else None
        self.out = nn.Linear(config.hidden if self.pairs else inner, config.classes)

    def forward(self, points: Float[Tensor, "*batch d"]) -> Float[Tensor, "*lead classes"]:
        """Scores of a pooled point, or of the pairs along the last batch axis.

        Raises:
            ShapeMismatch: for points of another width, or a two-tower model without a batch axis
                of length 2.
            InvalidValue: for another number format.
        """
        _require_width(points, self.out.weight, self.width)
        if self.hidden is None:
            return self.out(points)
        if points.ndim < 2 or points.shape[-2] != 2:
            raise ShapeMismatch(
                f"A two-tower model takes pairs (*batch, 2, n) but got pooled points of shape "
                f"{tuple(points.shape)}; stack both sequences on an axis of length 2."
            )
        a, b = points.unbind(-2)
        return self.out(functional.relu(self.hidden(torch.cat([a, b, a * b, a - b], dim=-1))))


class LanguageHead(nn.Module):
    """Scores of the next entry of the vocabulary, by a map of its own or by the token table."""

    out: nn.Parameter | None

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        own = None if config.tied else nn.Parameter(torch.zeros(config.entries, config.width))
        self.register_parameter("out", own)

    def forward(self, x: Points, table: Float[Tensor, "v d"]) -> Float[Tensor, "*batch n v"]:
        """One row of scores per token.

        Raises:
            ShapeMismatch: for points of another width.
            InvalidValue: for another number format.
        """
        _require_width(x, table, table.shape[-1])
        return functional.linear(x, table if self.out is None else self.out)


def head_of(config: TransformerConfig) -> nn.Module | None:
    """The head that a config asks for; None for pooled points alone."""
    if config.head == "language":
        return LanguageHead(config)
    return Classifier(config) if config.classes else None


def _require_width(x: Tensor, weight: Tensor, width: int) -> None:
    if x.shape[-1:] != (width,):
        raise ShapeMismatch(
            f"The head reads points of {width} numbers but got shape {tuple(x.shape)}; pass the "
            "last state of its own model."
        )
    require_format(x, weight, name="points")
