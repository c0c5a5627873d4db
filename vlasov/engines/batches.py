r"""A cloud cut into batches of nearly equal size, by a random order of its tokens.

.. math:: \mathrm{share}_{ij} = \frac{n - 1}{p_i - 1} \ (j \ne i), \qquad \mathrm{share}_{ii} = 1

is what makes a sum over the batch of token i (of :math:`p_i` tokens) an unbiased estimate of the
sum over all n. Batches shorter than the longest by one are filled up with an absent token.
"""

__all__ = ["Batches"]

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True, eq=False)
class Batches:
    """`count` batches of the tokens in `order`, of shape (*batch, n)."""

    order: Tensor
    count: int
    dtype: torch.dtype

    def split(self, x: Tensor) -> Tensor:
        """Tokens (*batch, n, c) as (*batch, count, longest, c)."""
        x = x.expand(*self.order.shape, x.shape[-1])
        slots = self.order[..., self._slots().flatten()].unsqueeze(-1)
        return x.gather(-2, slots.expand(*slots.shape[:-1], x.shape[-1])).unflatten(
            -2, (self.count, -1)
        )

    def joined(self, parts: Tensor) -> Tensor:
        """The inverse of `split`."""
        tokens = parts.flatten(-3, -2)[..., self._filled().flatten(), :]
        back = self.order.argsort(-1).unsqueeze(-1)
        return tokens.gather(-2, back.expand(tokens.shape))

    def present(self) -> Tensor:
        """1 where a batch has a token in that slot, else 0; of shape (count, 1, longest)."""
        return self._filled().to(self.dtype).unsqueeze(-2)

    def shares(self) -> Tensor:
        """How many tokens each one in the batch stands for; (count, longest, longest)."""
        others = (self._sizes() - 1).clamp(min=1).to(self.dtype)
        share = ((self.order.shape[-1] - 1) / others).clamp(min=1)  # one token has no others
        itself = torch.eye(self._longest(), dtype=torch.bool, device=self.order.device)
        return torch.where(itself, 1.0, share[:, None, None]) * self.present()

    def _sizes(self) -> Tensor:
        n, numbers = self.order.shape[-1], torch.arange(self.count, device=self.order.device)
        return n // self.count + (numbers < n % self.count).long()

    def _longest(self) -> int:
        return -(-self.order.shape[-1] // self.count)

    def _filled(self) -> Tensor:
        columns = torch.arange(self._longest(), device=self.order.device)
        return columns < self._sizes().unsqueeze(-1)

    def _slots(self) -> Tensor:
        """The place in the order of every slot; the first of its batch where there is none."""
        sizes = self._sizes()
        starts = (sizes.cumsum(0) - sizes).unsqueeze(-1)
        columns = torch.arange(self._longest(), device=self.order.device)
        return torch.where(self._filled(), starts + columns, starts)
