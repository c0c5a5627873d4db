"""What a Transformer takes, checked where it enters: entries, vectors, padding, log weights.

Type, shape and place of a tensor are known without waiting for its device. Only the range of the
entries is read from it, once for each sequence: outside it a CPU stops with an index and a CUDA
device with a fault that ends the process.
"""

__all__ = [
    "require_entries",
    "require_format",
    "require_head_weights",
    "require_padding",
    "require_vectors",
    "require_weights",
]

import torch
from jaxtyping import Float, Int
from torch import Tensor

from vlasov._shapes import Points
from vlasov.errors import InvalidValue, ShapeMismatch


def require_entries(given: object, table: Tensor) -> Int[Tensor, "*batch n"]:
    """The entries of a table that the inputs name, as 64-bit numbers.

    Raises:
        InvalidValue: for anything but whole numbers within the table, one token at least.
    """
    ids = _placed(given, table, name="inputs")
    if ids.is_floating_point() or ids.is_complex() or ids.dtype == torch.bool:
        raise InvalidValue(
            f"The model takes whole numbers, entries of its vocabulary, but the inputs are "
            f"{ids.dtype}; pass what the tokenizer gives, as torch.int64."
        )
    if ids.ndim < 1 or ids.numel() == 0:
        raise InvalidValue(
            f"The model takes entries (*batch, n), one token at least, but got shape "
            f"{tuple(ids.shape)}; leave empty sequences out."
        )
    ids = ids.long()
    low, high = torch.stack(ids.aminmax()).tolist()
    if low < 0 or high >= len(table):
        raise InvalidValue(
            f"The vocabulary has entries 0 to {len(table) - 1} but the inputs hold "
            f"{low if low < 0 else high}; use the tokenizer that belongs to the model."
        )
    return ids


def require_vectors(given: object, width: int, weight: Tensor | None, *, name: str) -> Points:
    """Tokens that are vectors, if they fit the weights that act on them.

    Raises:
        ShapeMismatch: for another width, or no token.
        InvalidValue: for another number format or device than that of the weights.
    """
    x = _placed(given, weight, name=name)
    if x.ndim < 2 or x.shape[-1] != width or 0 in x.shape:
        raise ShapeMismatch(
            f"The model takes tokens of {width} numbers, (*batch, n, {width}) with one token at "
            f"least, but the {name} are {tuple(x.shape)}; bring them into this shape."
        )
    require_format(x, weight, name=name)
    return x


def require_format(x: Float[Tensor, "..."], weight: Tensor | None, *, name: str) -> None:
    """Refuse another number format than that of the weights, which autocast alone converts.

    Raises:
        InvalidValue: if it is another one.
    """
    wanted = x.dtype if weight is None else weight.dtype
    if x.dtype == wanted and x.is_floating_point():
        return
    if not x.is_floating_point() or not torch.is_autocast_enabled(x.device.type):
        raise InvalidValue(
            f"The model computes with {wanted if wanted.is_floating_point else 'real numbers'} "
            f"but the {name} are {x.dtype}; convert them with `.to`, or build the model with "
            "another dtype."
        )


def require_padding(given: object, shape: tuple[int, ...], like: Tensor) -> None:
    """Refuse padding other than one truth value per token, beside the tokens.

    Raises:
        InvalidValue: for anything but truth values, or another device.
        ShapeMismatch: for another shape.
    """
    padding = _placed(given, like, name="padding")
    if padding.dtype != torch.bool:
        raise InvalidValue(
            f"Padding is True where there is no token, else False, but got {padding.dtype}; "
            "compare it first, as in `mask == 0` for a mask of real tokens."
        )
    if tuple(padding.shape) != tuple(shape):
        raise ShapeMismatch(
            f"Padding needs one entry per token, {tuple(shape)}, but has shape "
            f"{tuple(padding.shape)}; True is padding."
        )


def require_weights(x: Points, log_w: Float[Tensor, "..."]) -> None:
    """Refuse log weights other than one real number per token.

    Raises:
        ShapeMismatch: if they have another shape.
        InvalidValue: if they are no real numbers.
    """
    if log_w.shape != x.shape[:-1]:
        raise ShapeMismatch(
            f"Points of shape {tuple(x.shape)} need log weights {tuple(x.shape[:-1])} but got "
            f"{tuple(log_w.shape)}; take those of `log_weights`."
        )
    _require_real(log_w)


def require_head_weights(x: Points, log_w: Float[Tensor, "..."]) -> None:
    """Refuse log weights without an axis of length 1 for the heads.

    Raises:
        ShapeMismatch: if they have none, or another number of tokens.
        InvalidValue: if they are no real numbers.
    """
    if log_w.ndim < 2 or log_w.shape[-2:] != (1, x.shape[-2]):
        raise ShapeMismatch(
            f"Points of shape {tuple(x.shape)} need log weights (*batch, 1, {x.shape[-2]}) "
            f"but got {tuple(log_w.shape)}; insert an axis for the heads."
        )
    _require_real(log_w)


def _require_real(log_w: Tensor) -> None:
    if not log_w.is_floating_point():
        raise InvalidValue(
            f"Log weights are real numbers but got {log_w.dtype}; take those of `log_weights`."
        )


def _placed(given: object, like: Tensor | None, *, name: str) -> Tensor:
    """The tensor, if it is one and lies where `like` does."""
    if not isinstance(given, Tensor):
        raise InvalidValue(
            f"The {name} of a model are a tensor but got {type(given).__name__}; write "
            "torch.tensor(...)."
        )
    if like is not None and given.device != like.device:
        raise InvalidValue(
            f"The model is on {like.device} but its {name} are on {given.device}; move one of "
            "them with `.to`."
        )
    return given
