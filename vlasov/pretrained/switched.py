"""A trained network under other stabilisers: its weights stay, what joins them changes."""

__all__ = ["with_stabilisers"]

import copy
import dataclasses

from torch import nn

from vlasov.errors import InvalidValue, Unsupported
from vlasov.transformer import AttentionLayer, Block, Stabilisers, Transformer
from vlasov.transformer.block_diffusions import require_diffusions
from vlasov.transformer.norm_layers import Norm, PreLayer, WrapLayer


def with_stabilisers(
    model: Transformer, stabilisers: Stabilisers, *, mlp: bool = True
) -> Transformer:
    """The network under other stabilisers, on the weights of `model`, which is left as it is.

    Where the new scheme has one norm with factors per branch, it is the trained one, with its kind
    and eps: the scheme says where it acts. Norms that were not there start with factors 1. The
    norms of the embedding and behind the last layer stay. Without `mlp` blocks are attention only.

    Raises:
        Unsupported: for shared weights: each layer of a trained network has its own.
        InvalidValue: for a kind or an eps other than that of the trained norms.

    Example:
        >>> from vlasov.transformer import TransformerConfig
        >>> model = Transformer(TransformerConfig(width=4, depth=2, heads=1), Stabilisers("post"))
        >>> with_stabilisers(model, Stabilisers("none"), mlp=False).stabilisers.described()
        'no norm'
    """
    if stabilisers.shared or model.stabilisers.shared:
        raise Unsupported(
            "Layers must have weights of their own to get other stabilisers but `shared` is set. "
            "Leave it False."
        )
    config = model.config if mlp else dataclasses.replace(model.config, mlp="none")
    require_diffusions(config, stabilisers, model.diffusions)
    tensors = [*model.parameters(), *model.buffers()]
    changed = copy.deepcopy(model, {id(tensor): tensor for tensor in tensors})
    changed.config, changed.stabilisers = config, stabilisers
    changed.enter = stabilisers.scheme.enter(config.width)
    if isinstance(changed.leave, nn.Identity):
        changed.leave = stabilisers.scheme.leave(config.width)
    layers = range(config.depth)
    changed.blocks = nn.ModuleList(
        _changed(changed.block(layer), Block(config, stabilisers, layer), stabilisers.norm)
        for layer in layers
    )
    first = tensors[0]
    changed.requires_grad_(first.requires_grad).train(model.training)
    return changed.to(dtype=first.dtype, device=first.device)


def _changed(old: Block, new: Block, spec: str) -> Block:
    """The new block with the branches and trained norms of the old one."""
    if old.attention is not None and new.attention is not None:
        new.attention = _with_gains(old.attention, new.attention)
    new.diffusions = old.diffusions
    new.attention_norm = _trained(old.attention_norm, new.attention_norm, spec)
    if new.mlp is not None:
        new.mlp = old.mlp
        new.mlp_norm = _trained(old.mlp_norm, new.mlp_norm, spec)
    return new


def _with_gains(old: AttentionLayer, new: AttentionLayer) -> AttentionLayer:
    """The old branch, with a query-key norm where the new one has it, trained if there is one."""
    for name in ("query_gain", "key_gain"):
        wanted = getattr(new, name)
        if wanted is None or getattr(old, name) is None:
            setattr(old, name, wanted)
    return old


def _trained(old: WrapLayer | None, new: WrapLayer | None, spec: str) -> WrapLayer | None:
    """The new way of joining a branch, with the trained norm where it has one with factors."""
    if isinstance(old, PreLayer) and isinstance(new, PreLayer):
        trained, fresh = old.norm, new.norm
        if trained.weight is not None and fresh.weight is not None:
            _require_same(trained, fresh, spec)
            new.norm = trained
    return new


def _require_same(trained: Norm, fresh: Norm, spec: str) -> None:
    """Refuse a kind or an eps that the scheme names and the trained norm does not have."""
    named = {item.partition("=")[0].strip() for item in spec.partition(":")[2].split(",")}
    for name, kept, wanted in (
        ("kind", trained.kind, fresh.kind),
        ("eps", trained.eps, fresh.eps),
    ):
        if name in named and kept != wanted:
            raise InvalidValue(
                f"The trained norms stay, with {name}={kept}, but the scheme asks for "
                f"{name}={wanted}; drop it, or add gain=false for norms without trained factors."
            )
