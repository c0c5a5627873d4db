"""The real tokens of padded rows: brought to the front in their order, and counted."""

__all__ = ["RealTokens", "real_tokens"]

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from vlasov.errors import InvalidValue, ShapeMismatch


@dataclass(frozen=True, eq=False)
class RealTokens:
    """Rows of `width` tokens; `padding` is None where all are real, else theirs, in front order.

    `order` lists the tokens with the real ones in front, `back` undoes it; None where they are
    in front already.
    """

    width: int
    padding: Bool[Tensor, "*rows n"] | None = None
    order: Int[Tensor, "*rows n"] | None = None
    back: Int[Tensor, "*rows n"] | None = None

    def counts(self) -> Int[Tensor, "*rows"] | int:
        """How many tokens of each row are real."""
        return self.width if self.padding is None else (~self.padding).sum(-1)

    def to_front(self, x: Tensor) -> Tensor:
        """Tokens (..., n, d) with the real ones in front."""
        return x if self.order is None else x.take_along_dim(self.order.unsqueeze(-1), -2)

    def restored(self, x: Tensor) -> Tensor:
        """What `to_front` moved, back in place."""
        return x if self.back is None else x.take_along_dim(self.back.unsqueeze(-1), -2)

    def without_padding(self, part: Tensor, first: int) -> Tensor:
        """Rows `first` to the end of tokens in front order, in place zero where there is none."""
        if self.padding is None:
            return part
        return part.masked_fill_(self.padding[..., first:, None], 0.0)

    def kept(self, x: Tensor, changed: Tensor) -> Tensor:
        """`changed` at real tokens and `x` at padding, both in their own order."""
        if self.padding is None:
            return changed
        mask = self.padding.unsqueeze(-1)
        return torch.where(self.restored(mask), x, changed)

    def require(self, smallest: int) -> None:
        """Refuse rows with fewer real tokens than the largest stride.

        Raises:
            InvalidValue: if there is such a row.
        """
        counts = self.counts()
        fewest = counts if isinstance(counts, int) else int(counts.min())
        if fewest < smallest:
            raise InvalidValue(
                f"Diffusion over a stride of {smallest} needs as many real tokens in every row "
                f"but one has {fewest}; take smaller scales, or leave such rows out."
            )


def real_tokens(x: Tensor, padding: Bool[Tensor, "*rows n"] | None) -> RealTokens:
    """How the tokens of x (..., n, d) are padded; `padding` is True where there is no token.

    Raises:
        ShapeMismatch: for padding that does not fit the points.
    """
    if padding is None:
        return RealTokens(x.shape[-2])
    lead = padding.shape
    fits = [a in (1, b) for a, b in zip(lead, x.shape, strict=False)]
    if len(lead) != x.dim() - 1 or lead[-1] != x.shape[-2] or not all(fits):
        raise ShapeMismatch(
            f"Points of shape {tuple(x.shape)} need padding of shape {tuple(x.shape[:-1])} but "
            f"got {tuple(lead)}; give one truth value per token."
        )
    if not bool(padding.any()):
        return RealTokens(x.shape[-2])
    if bool((padding[..., 1:] >= padding[..., :-1]).all()):
        return RealTokens(x.shape[-2], padding)
    order = padding.argsort(dim=-1, stable=True)
    front = padding.take_along_dim(order, -1)
    return RealTokens(x.shape[-2], front, order, order.argsort(dim=-1))
