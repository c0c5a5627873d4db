"""A Transformer made of the tensors of a checkpoint: no weight is drawn, none is copied."""

__all__ = ["assembled"]

from collections.abc import Mapping

import torch
from torch import Tensor

from vlasov.transformer import Stabilisers, Transformer, TransformerConfig


def assembled(
    config: TransformerConfig, stabilisers: Stabilisers, weights: Mapping[str, Tensor]
) -> Transformer:
    """The model that holds these very tensors, for evaluation and without gradients."""
    with torch.device("meta"):
        model = Transformer(config, stabilisers)
    model.load_state_dict(dict(weights), strict=True, assign=True)
    return model.eval().requires_grad_(False)
