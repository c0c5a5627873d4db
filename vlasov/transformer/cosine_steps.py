r"""Implicit and exact diffusion in the basis of cosines, where the stencil is diagonal.

.. math:: y = C^{-1}\, g(c, \lambda_k)\, C x, \qquad \lambda_k = 4 \sin^2(\pi k / 2n), \qquad
          g = 1 / (1 + c\lambda) \text{ (implicit)}, \quad g = e^{-c\lambda} \text{ (exact)}

with the DCT-II as C. A row and its mirror image are periodic with 2n tokens and keep their
symmetry under a real filter, so that C is a Fourier transform: n log n sums per channel.
"""

__all__ = ["RESPONSES", "cosine_step"]

import math
from collections.abc import Callable

import torch
from torch import Tensor

from vlasov.transformer.real_tokens import RealTokens

Response = Callable[[Tensor], Tensor]

RESPONSES: dict[str, Response] = {
    "implicit": lambda rate: 1 / (1 + rate),
    "exact": lambda rate: (-rate).exp(),
}
"""The factor g of a mode by kind, as a function of c times lambda."""


def cosine_step(x: Tensor, rates: Tensor, response: Response, tokens: RealTokens) -> Tensor:
    """One step on points (..., n, d) with the rates c that multiply them; padding stays."""
    if tokens.padding is None:
        return _filtered(x, rates, response)
    front = tokens.to_front(x)
    counts = (~tokens.padding).sum(-1, keepdim=True).unsqueeze(-1)
    moved = front.masked_fill(tokens.padding.unsqueeze(-1), 0.0)
    result = front
    for count in counts.unique().tolist():
        shorter = _filtered(moved[..., :count, :], rates, response)
        rows = (counts == count).expand_as(result[..., :count, :])
        shorter = torch.where(rows, shorter, result[..., :count, :])
        result = torch.cat([shorter, result[..., count:, :]], dim=-2)
    return tokens.restored(result)


def _filtered(x: Tensor, rates: Tensor, response: Response) -> Tensor:
    n = x.shape[-2]
    wide = torch.promote_types(x.dtype, torch.float32)  # transforms of half precision are rare
    both = torch.cat([x, x.flip(-2)], dim=-2).to(wide)
    angles = torch.arange(n + 1, dtype=wide, device=x.device) * (math.pi / (2 * n))
    eigenvalues = 4 * angles.sin().square().unsqueeze(-1)
    factors = response(rates.to(wide) * eigenvalues)
    modes = torch.fft.rfft(both, dim=-2) * factors
    return torch.fft.irfft(modes, n=2 * n, dim=-2)[..., :n, :].to(x.dtype)
