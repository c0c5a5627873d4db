"""What a Transformer is built from and asked for, checked before a weight is made or read."""

__all__ = ["require_arguments", "require_layer"]

import numbers

import torch

from vlasov.errors import InvalidValue
from vlasov.transformer.config import TransformerConfig
from vlasov.transformer.insertion import Diffusions
from vlasov.transformer.stabilisers import Stabilisers

_EXAMPLES = {
    TransformerConfig: "TransformerConfig(width=64, heads=4)",
    Stabilisers: "Stabilisers(norm='pre')",
    Diffusions: "Diffusions.parse('after-mlp')",
}


def require_arguments(*records: object, seed: object, dtype: object) -> None:
    """Refuse anything but a config, stabilisers and diffusions, a seed and a number format.

    Raises:
        InvalidValue: with what was given instead.
    """
    for given, (kind, example) in zip(records, _EXAMPLES.items(), strict=True):
        if not isinstance(given, kind):
            raise InvalidValue(
                f"A Transformer takes {kind.__name__} but got {given!r}; write {example}."
            )
    # 1.0 would draw other weights than 1
    if isinstance(seed, bool) or not isinstance(seed, numbers.Integral):
        raise InvalidValue(f"A seed is a whole number but got {seed!r}; give one, such as 0.")
    if dtype is not None and not (isinstance(dtype, torch.dtype) and dtype.is_floating_point):
        raise InvalidValue(
            f"The weights of a Transformer are real numbers but dtype is {dtype!r}; take "
            "torch.float32, or leave it out."
        )


def require_layer(layer: object, depth: int) -> None:
    """Refuse a number that no layer has.

    Raises:
        InvalidValue: for another number, or none.
    """
    if not isinstance(layer, int) or not 0 <= layer < depth:
        raise InvalidValue(
            f"The model has layers 0 to {depth - 1} but {layer!r} was asked for; choose one of "
            "these."
        )
