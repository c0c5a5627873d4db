r"""The operands of one sum over a cloud, as one value.

.. math:: s_{ij} = \langle q_i, k_j\rangle + b_j - \mathrm{penalty}_{ij}
          \quad\text{for the keys j that query i sees}
"""

__all__ = ["Pairs"]

import dataclasses
import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import torch
from jaxtyping import Float
from torch import Tensor

from vlasov._shapes import KeyLogits, Keys, Queries, Values
from vlasov.engines.visibility import Visibility

_HALF = (torch.float16, torch.bfloat16)


@dataclass(frozen=True, eq=False)
class Pairs:
    """Queries, keys, values and key logits, with what each query sees of the keys.

    A key logit is the logarithm of a weight: ``-inf`` makes the key absent.
    """

    q: Queries
    k: Keys
    v: Values
    logits: KeyLogits
    mask: Visibility | None = None

    @property
    def batch(self) -> torch.Size:
        """The common shape of all axes before the tokens."""
        shapes = {x.shape[:-2] for x in (self.q, self.k, self.v)} | {self.logits.shape[:-1]}
        return shapes.pop() if len(shapes) == 1 else torch.broadcast_shapes(*shapes)

    @cached_property
    def longest_key(self) -> Float[Tensor, "*#batch one one"]:
        """The largest norm of a key, as a constant."""
        return _longest(self.k.detach())

    @property
    def wants_gradient(self) -> bool:
        """Whether a derivative will be asked of the sum."""
        tensors = (self.q, self.k, self.v, self.logits)
        return torch.is_grad_enabled() and any(x.requires_grad for x in tensors)

    def detach(self) -> "Pairs":
        """The same operands as constants."""
        q, k, v = self.q.detach(), self.k.detach(), self.v.detach()
        return Pairs(q, k, v, self.logits.detach(), self.mask)

    def working(self) -> "Pairs":
        """Half precision in float32: a score of 300 * 300 already overflows float16.

        Views that negate what they show become numbers, which compiled code can read.
        """
        if not any(x.dtype in _HALF or x.is_neg() for x in (self.q, self.k, self.v, self.logits)):
            return self
        q, k, v = _full(self.q), _full(self.k), _full(self.v)
        return Pairs(q, k, v, _full(self.logits), self.mask)

    def centred(self) -> "tuple[Pairs, Float[Tensor, '*#batch one k']]":
        """Keys seen from their mean where that shortens the longest one, and that point.

        No weight changes when a constant detached point is subtracted from all keys, so gradients
        of an average stay exact; a log-sum loses ``<q, centre>``. Only for sums without a mask:
        the mean of keys that a query must not see would leak into its rounding.
        """
        k = self.k.detach()
        centre = k.mean(dim=-2, keepdim=True)
        moved = k - centre
        lowers = _longest(moved) < self.longest_key
        if not bool(lowers if lowers.numel() == 1 else lowers.all()):
            centre = torch.where(lowers, centre, 0.0)
            moved = k - centre
        k = self.k - centre if self.k.requires_grad else moved
        return Pairs(self.q, k, self.v, self.logits, self.mask), centre

    def value_scale(self) -> float:
        """A power of two near the largest value: squares of values over it stay in range."""
        if not self.v.numel():
            return 1.0
        low, high = self.v.detach().aminmax()
        largest = max(-low.item(), high.item())
        return math.ldexp(1.0, min(max(math.frexp(largest)[1], -1021), 1023)) if largest else 1.0

    def blocks(self, rows: int) -> "Iterator[Pairs]":
        """The same sum for `rows` queries at a time."""
        for index, q in enumerate(self.q.split(rows, dim=-2)):
            taken = slice(index * rows, index * rows + q.shape[-2])
            mask = None if self.mask is None else self.mask.rows(taken)
            yield dataclasses.replace(self, q=q, mask=mask)


def _full(x: Tensor) -> Tensor:
    return (x.float() if x.dtype in _HALF else x).resolve_neg()


def _longest(k: Tensor) -> Tensor:
    return torch.linalg.vector_norm(k, dim=-1, keepdim=True).amax(dim=-2, keepdim=True)
