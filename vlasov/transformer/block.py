r"""A block: the attention branch, then the MLP branch, each joined by the norm scheme.

.. math:: y = \mathrm{wrap}(x, F_{\text{attention}}, c), \qquad
          x' = \mathrm{wrap}'(y, F_{\text{MLP}}, c)

Without norm this is one step of Lie splitting with Euler's method and step c.
"""

__all__ = ["Block"]

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional

from vlasov._shapes import Points
from vlasov.engines.visibility import Visibility
from vlasov.transformer.attention_layer import AttentionLayer
from vlasov.transformer.block_diffusions import UNSMOOTHED, BlockDiffusions
from vlasov.transformer.config import TransformerConfig
from vlasov.transformer.input_checks import require_head_weights, require_vectors
from vlasov.transformer.insertion import Diffusions
from vlasov.transformer.norm_layers import Branch, WrapLayer
from vlasov.transformer.perceptron import PerceptronLayer
from vlasov.transformer.positions import Places
from vlasov.transformer.stabilisers import Stabilisers


class Block(nn.Module):
    """One layer of a Transformer under its stabilisers; `layer` counts from 0."""

    def __init__(
        self,
        config: TransformerConfig,
        stabilisers: Stabilisers,
        layer: int,
        diffusions: Diffusions | None = None,
    ) -> None:
        super().__init__()
        self.layer = layer
        self.width = config.width
        self.dropout = config.dropout
        self.step = stabilisers.step
        self.scheme = stabilisers.scheme
        sees = config.attention != "none"
        self.attention = AttentionLayer(config, qk_norm=stabilisers.qk_norm) if sees else None
        self.attention_norm = self.attention and self._wrapper(config, stabilisers, "attention")
        self.mlp = None if config.mlp == "none" else PerceptronLayer(config)
        self.mlp_norm = self.mlp and self._wrapper(config, stabilisers, "mlp")
        start = stabilisers.first_scale(config.depth)
        trained = stabilisers.trains_scale
        self.attention_scale = nn.Parameter(torch.tensor(start)) if trained and sees else start
        self.mlp_scale = nn.Parameter(torch.tensor(start)) if trained and self.mlp else start
        self.diffusions: BlockDiffusions | None = None
        if diffusions is not None and diffusions.in_blocks:
            self.diffusions = BlockDiffusions(config, diffusions, layer)

    def _wrapper(
        self, config: TransformerConfig, stabilisers: Stabilisers, branch: str
    ) -> WrapLayer:
        residual = stabilisers.keeps_residual(branch)
        return self.scheme.build(config.width, self.layer, config.depth, residual=residual)

    def forward(
        self,
        x: Points,
        *,
        log_w: Float[Tensor, "*lead n"],
        mask: Visibility | None = None,
        layer: int | None = None,
        places: Places | None = None,
    ) -> Points:
        """The state after the block; shared weights say by `layer` where in depth they act.

        `log_w` is ``(*batch, 1, n)``, minus infinity for padding; `places` (*batch, 1, n)
        are those of the tokens where padding shifts them.

        Raises:
            ShapeMismatch: for points of another width, or log weights without the axis of the
                heads.
            InvalidValue: for points in another number format or on another device.
        """
        require_vectors(x, self.width, self._weight, name="points")
        require_head_weights(x, log_w)
        depth = self.layer if layer is None else layer
        rate = self.step * self.scheme.factor(depth, self.step)
        smooth = self.diffusions.bind(log_w.squeeze(-2), depth) if self.diffusions else UNSMOOTHED
        if self.attention is not None and self.attention_norm is not None:
            force = self.attention.force(
                log_w,
                mask,
                places=places,
                smooth_values=smooth.values,
                smooth_seen=smooth.seen,
            )
            x = self.attention_norm.wrap(
                x,
                self._dropped(lambda y: force(0.0, y)),
                self.attention_scale * rate,
                smooth.before_attention_norm,
            )
            x = smooth.after_attention(x)
        if self.mlp is not None and self.mlp_norm is not None:
            x = self.mlp_norm.wrap(
                x, self._dropped(self.mlp), self.mlp_scale * rate, smooth.before_mlp_norm
            )
            x = smooth.after_mlp(x)
        return smooth.between_layers(x)

    @property
    def _weight(self) -> Tensor | None:
        """One of its weights, if there is one."""
        if self.attention is not None:
            return self.attention.query
        return None if self.mlp is None else self.mlp.inner

    def _dropped(self, branch: Branch) -> Branch:
        if self.dropout == 0 or not self.training:
            return branch
        return lambda y: functional.dropout(branch(y), self.dropout)
