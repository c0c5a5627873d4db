"""The diffusions inside one block: their parameters, and the maps that they are for a batch."""

__all__ = ["UNSMOOTHED", "BlockDiffusions", "Smoothing", "require_diffusions"]

from dataclasses import dataclass

from torch import Tensor, nn

from vlasov._shapes import LogWeights
from vlasov.errors import InvalidValue, Unsupported
from vlasov.pde.field import Smooth
from vlasov.transformer.config import TransformerConfig
from vlasov.transformer.diffusion import DiffusionLayer
from vlasov.transformer.insertion import Diffusions
from vlasov.transformer.norm_layers import PreLayer, unchanged
from vlasov.transformer.sphere_norms import Ngpt, OnSphere
from vlasov.transformer.stabilisers import Stabilisers


@dataclass(frozen=True)
class Smoothing:
    """What a block does to its tensors at each position, for tokens of known padding."""

    values: Smooth | None = None
    seen: Smooth | None = None
    before_attention_norm: Smooth = unchanged
    before_mlp_norm: Smooth = unchanged
    after_attention: Smooth = unchanged
    after_mlp: Smooth = unchanged
    between_layers: Smooth = unchanged


UNSMOOTHED = Smoothing()
"""A block without diffusion."""


class BlockDiffusions(nn.Module):
    """The diffusion layers of the block of this number; with shared weights it is 0."""

    def __init__(self, config: TransformerConfig, diffusions: Diffusions, number: int) -> None:
        super().__init__()
        self.depth = config.depth
        d, sees, maps = config.width, config.attention != "none", config.mlp != "none"

        def layer(name: str, width: int = d, heads: int | None = None) -> DiffusionLayer | None:
            diffusion = dict(diffusions).get(name)
            along_heads = name == "across-heads"
            if diffusion is None:
                return None
            causal = config.causal and not along_heads
            return DiffusionLayer(width, diffusion, causal=causal, heads=heads)

        self.in_attention = layer("in-attention", config.heads * config.k, config.heads)
        self.across_heads = layer("across-heads", config.k)
        self.before_attention_norm = layer("before-norm") if sees else None
        self.before_mlp_norm = layer("before-norm") if maps else None
        self.after_attention = layer("after-attention")
        self.after_mlp = layer("after-mlp")
        self.between_layers = layer("between-layers") if number < config.depth - 1 else None

    def bind(self, log_w: LogWeights, layer: int) -> Smoothing:
        """The maps for tokens of these log weights (*batch, n), in layer number `layer`."""
        hidden = log_w.isneginf()
        padding = hidden if bool(hidden.any()) else None

        def along(diffusion: nn.Module | None) -> Smooth:
            return unchanged if diffusion is None else lambda x: diffusion(x, padding)

        last = layer == self.depth - 1
        return Smoothing(
            values=None if self.in_attention is None else along(self.in_attention),
            seen=None if self.across_heads is None else self._across_heads,
            before_attention_norm=along(self.before_attention_norm),
            before_mlp_norm=along(self.before_mlp_norm),
            after_attention=along(self.after_attention),
            after_mlp=along(self.after_mlp),
            between_layers=unchanged if last else along(self.between_layers),
        )

    def _across_heads(self, seen: Tensor) -> Tensor:
        if self.across_heads is None:
            return seen
        return self.across_heads(seen.transpose(-2, -3)).transpose(-2, -3)


def require_diffusions(
    config: TransformerConfig, stabilisers: Stabilisers, diffusions: Diffusions
) -> None:
    """Refuse positions that a model does not have.

    Raises:
        Unsupported: for a position in a branch or norm that is not there, or for states that
            would leave their sphere.
        InvalidValue: for strides beyond the number of heads.
    """
    scheme = stabilisers.scheme
    for name, diffusion in diffusions:
        missing = None
        if name == "after-mlp" and config.mlp == "none":
            missing = "an MLP"
        elif name in ("in-attention", "across-heads", "after-attention"):
            missing = "attention" if config.attention == "none" else None
        elif name == "before-norm" and not isinstance(scheme.build(config.width), PreLayer):
            missing = "a norm in its blocks"
        if missing:
            raise Unsupported(
                f"Diffusion {name} needs {missing} but the model has none; take another position."
            )
        if name == "across-heads" and max(diffusion.scales) >= config.heads:
            raise InvalidValue(
                f"Diffusion across heads needs strides below the {config.heads} heads but has "
                f"{max(diffusion.scales)}; take smaller scales, or more heads."
            )
        on_state = name in ("after-mlp", "between-layers", "after-attention")
        if on_state and isinstance(scheme, Ngpt | OnSphere):
            raise Unsupported(
                f"Diffusion {name} would move tokens off the sphere of norm='{scheme.name}'; take "
                "after-embedding, in-attention or across-heads."
            )
