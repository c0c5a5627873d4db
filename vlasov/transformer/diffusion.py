r"""The layer that smooths tokens along their positions, with trained strengths.

.. math:: x \leftarrow x + \sum_h w_h\, \alpha_h \odot \Delta_h x, \qquad
          w = \mathrm{softmax}(\omega), \qquad \alpha_h = \tfrac{1 - 2^{-14}}2\,\sigma(\theta_h)

so that :math:`\sum_h w_h \alpha_h < 1/2` in every channel whatever the parameters are: no step
raises the largest value of a channel. Implicit and exact steps have
:math:`\alpha = \log(1 + e^\theta)`.

Source: :cite:`zhang2025pdetransformer`, section 3.5 and B.1.4, with weights of sum 1.
"""

__all__ = ["DiffusionLayer"]

import math

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn import functional

from vlasov.errors import InvalidValue, ShapeMismatch, Unsupported
from vlasov.transformer.cosine_steps import RESPONSES, cosine_step
from vlasov.transformer.diffusion_settings import LARGEST_ALPHA, Diffusion
from vlasov.transformer.heat_steps import Stencil, heat_step
from vlasov.transformer.real_tokens import RealTokens, real_tokens


class DiffusionLayer(nn.Module):
    """Diffusion of points (..., n, width), or (..., heads, n, width/heads) with `heads`.

    `causal` looks back only: :math:`x_i + a (x_{i-h} - x_i)`.

    Raises:
        Unsupported: for a causal step that is implicit, exact, conservative or transposed.
        InvalidValue: for heads that do not divide the width.

    Example:
        >>> layer = DiffusionLayer(1, Diffusion(scales=(1,), alpha=0.25))
        >>> layer(torch.tensor([[0.0], [4.0], [0.0]])).flatten().tolist()
        [1.0, 2.0, 1.0]
    """

    def __init__(
        self,
        width: int,
        diffusion: Diffusion,
        *,
        causal: bool = False,
        heads: int | None = None,
    ) -> None:
        super().__init__()
        _require_causal(diffusion, causal)
        _require_heads(width, heads)
        self.width, self.heads, self.diffusion, self.causal = width, heads, diffusion, causal
        scales = len(diffusion.scales)
        self.alpha_logits = nn.Parameter(torch.empty(scales, width))
        self.weight_logits = nn.Parameter(torch.empty(scales)) if scales > 1 else None
        last = width if heads is None else width // heads
        self.norm = nn.LayerNorm(last) if diffusion.norm else None
        self.stencil = Stencil(
            diffusion.scales, causal, diffusion.conservative, diffusion.transposed
        )
        self.reset_parameters()

    @torch.no_grad()
    def reset_parameters(self) -> None:
        """Every parameter at its start, to the last digit of its number format."""
        alpha = self.diffusion.alpha
        if self.diffusion.kind == "explicit":
            share = alpha / LARGEST_ALPHA
            self.alpha_logits.fill_(math.log(share / (1 - share)))
        else:
            self.alpha_logits.fill_(alpha + math.log(-math.expm1(-alpha)))
        if self.weight_logits is not None:
            logits = [math.log(share) for share in self.diffusion.shares]
            self.weight_logits.copy_(self.weight_logits.new_tensor(logits))

    def alphas(self) -> Float[Tensor, "scales width"]:
        """The strengths, by scale and channel."""
        logits = _wide(self.alpha_logits)
        if self.diffusion.kind == "explicit":
            return LARGEST_ALPHA * logits.sigmoid()
        return functional.softplus(logits)

    def weights(self) -> Float[Tensor, " scales"]:
        """The shares of the scales, with sum 1."""
        if self.weight_logits is None:
            return _wide(self.alpha_logits).new_ones(1)
        return _wide(self.weight_logits).softmax(-1)

    def rates(self) -> Float[Tensor, "scales width"]:
        """Weight times strength: what multiplies the stencil of a scale in a channel."""
        return self.weights().unsqueeze(-1) * self.alphas()

    def forward(
        self, x: Float[Tensor, "*lead n c"], padding: Bool[Tensor, "*rows n"] | None = None
    ) -> Float[Tensor, "*lead n c"]:
        """The points after all steps; padded ones stay as they are and are seen by none.

        Raises:
            InvalidValue: for a row with fewer real tokens than the largest stride.
            ShapeMismatch: for points or padding of another shape.
        """
        rates = self.rates()
        if self.heads is not None:
            rates = rates.unflatten(-1, (self.heads, 1, -1))
            padding = None if padding is None else padding.unsqueeze(-2)
        fits = x.shape[-1] == rates.shape[-1]
        if not fits or (self.heads is not None and x.shape[-3:-2] != (self.heads,)):
            raise ShapeMismatch(
                f"Diffusion of width {self.width} with {self.heads or 'no'} heads cannot take "
                f"points of shape {tuple(x.shape)}; give it as many channels."
            )
        tokens = real_tokens(x, padding)
        tokens.require(max(self.diffusion.scales))
        for _ in range(self.diffusion.steps):
            x = self._step(x, rates, tokens)
        return x

    def _step(self, x: Tensor, rates: Tensor, tokens: RealTokens) -> Tensor:
        kind = self.diffusion.kind
        if kind == "explicit":
            y = heat_step(x, rates, self.stencil, tokens)
        else:
            y = cosine_step(x, rates[0], RESPONSES[kind], tokens)
        return y if self.norm is None else tokens.kept(x, self.norm(y))

    def extra_repr(self) -> str:  # noqa: D102
        causal = ", causal" if self.causal else ""
        return f"{self.width}, scales={self.diffusion.scales}, {self.diffusion.kind}{causal}"


def _wide(x: Tensor) -> Tensor:
    """In float32 at least: the bound 1/2 would be rounded to in half precision."""
    return x.to(torch.promote_types(x.dtype, torch.float32))


def _require_heads(width: int, heads: int | None) -> None:
    """Refuse a number of heads that leaves channels over."""
    if heads is not None and (heads < 1 or width % heads):
        raise InvalidValue(
            f"Diffusion per head needs heads that divide the width but got {heads} for {width}; "
            "change one of them."
        )


def _require_causal(diffusion: Diffusion, causal: bool) -> None:
    """Refuse what has no causal form."""
    settings = {
        diffusion.kind: diffusion.kind != "explicit",
        "conservative": diffusion.conservative,
        "transposed": diffusion.transposed,
    }
    wrong = [name for name, given in settings.items() if causal and given]
    if wrong:
        raise Unsupported(
            f"Causal diffusion is one explicit look back but '{wrong[0]}' is set, which sees "
            "later tokens or keeps no mean; leave it out, or take causal=False."
        )
