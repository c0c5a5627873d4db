"""Which tensors make a sum over a cloud; others are refused before any engine meets them."""

__all__ = ["KEYS", "LOGITS", "QUERIES", "VALUES", "require_operands"]

from collections.abc import Mapping

import torch
from torch import Tensor

from vlasov.engines.visibility import Visibility
from vlasov.errors import InvalidValue, ShapeMismatch

QUERIES, KEYS, VALUES, LOGITS = "queries", "keys", "values", "key logits"
"""The names of the operands, as messages give them."""

Operands = Mapping[str, Tensor]
Shape = tuple[int, ...]

_AXES = {QUERIES: 2, KEYS: 2, VALUES: 2, LOGITS: 1}
"""How many axes follow those of the batch."""
_NOWHERE = torch.device("meta")
_WORKING = {
    torch.float64: torch.float64,
    torch.float32: torch.float32,
    torch.float16: torch.float32,
    torch.bfloat16: torch.float32,
}
"""The format that numbers of each format are summed in."""


def require_operands(engine: str, operands: Operands, mask: Visibility | None) -> None:
    """Refuse tensors that make no sum; queries and keys are among the operands.

    Raises:
        InvalidValue: for numbers that are not floating, of two formats or on two devices.
        ShapeMismatch: for shapes that do not fit each other or the mask, and for empty ones.
    """
    _require_format(engine, operands)
    _require_device(engine, operands, mask)
    _require_axes(engine, operands)
    _require_some(engine, operands)
    _require_counts(engine, operands)
    batch = _batch(engine, operands)
    if mask is not None:
        _require_tokens(engine, operands, mask)
        _require_mask_batch(engine, mask, batch)


def _require_format(engine: str, operands: Operands) -> None:
    # Half precision is summed in float32.
    formats = {_WORKING.get(x.dtype) for x in operands.values()}
    if len(formats) > 1 or None in formats:
        found = _listed({name: x.dtype for name, x in operands.items()})
        raise InvalidValue(
            f"Engine '{engine}' needs floating-point numbers of one format but got {found}; "
            "convert them with `.to(torch.float64)`."
        )


def _require_device(engine: str, operands: Operands, mask: Visibility | None) -> None:
    devices = {x.device for x in operands.values()}
    if mask is not None:
        devices |= {x.device for x in mask.tensors}
    if len(devices) > 1 or _NOWHERE in devices:
        found = _listed({name: x.device for name, x in operands.items()})
        of_mask = "" if mask is None else f", mask {mask.key_positions.device}"
        raise InvalidValue(
            f"Engine '{engine}' needs numbers on one device but got {found}{of_mask}; move them "
            "with `.to(device)`."
        )


def _require_axes(engine: str, operands: Operands) -> None:
    if any(x.ndim < _AXES[name] for name, x in operands.items()):
        raise ShapeMismatch(
            f"Engine '{engine}' needs tokens (*batch, n, width) and key logits (*batch, n) but "
            f"got {_shapes(operands)}; add the missing axes."
        )


def _require_some(engine: str, operands: Operands) -> None:
    if any(x.numel() == 0 for x in operands.values()):
        raise ShapeMismatch(
            f"Engine '{engine}' needs at least one member, token and coordinate but got "
            f"{_shapes(operands)}; leave empty tensors out."
        )


def _require_counts(engine: str, operands: Operands) -> None:
    q, k = operands[QUERIES].shape, operands[KEYS].shape
    if q[-1] != k[-1]:
        raise ShapeMismatch(
            f"Engine '{engine}' needs queries and keys of one width but got {q[-1]} and {k[-1]}; "
            "project both to the same width."
        )
    if any(x.shape[-_AXES[name]] != k[-2] for name, x in operands.items() if name != QUERIES):
        raise ShapeMismatch(
            f"Engine '{engine}' needs as many values and logits as keys but got "
            f"{_shapes(operands)}; give each key its own."
        )


def _batch(engine: str, operands: Operands) -> Shape:
    batch = _broadcast({x.shape[: -_AXES[name]] for name, x in operands.items()})
    if batch is None:
        raise ShapeMismatch(
            f"Engine '{engine}' needs batch axes that are equal or 1 but got {_shapes(operands)}; "
            "expand or repeat one of them."
        )
    return batch


def _require_tokens(engine: str, operands: Operands, mask: Visibility) -> None:
    """Refuse a mask of other numbers of tokens."""
    wanted = (operands[QUERIES].shape[-2], operands[KEYS].shape[-2])
    found = [(mask.query_positions.shape[-1], mask.key_positions.shape[-1])]
    found += [] if mask.matrix is None else [tuple(mask.matrix.shape[-2:])]
    other = [size for size in found if size != wanted]
    if other:
        raise ShapeMismatch(
            f"Engine '{engine}' needs a mask of its {wanted[0]} queries and {wanted[1]} keys but "
            f"got one of {other[0]}; bind it to the positions of these tokens."
        )


def _require_mask_batch(engine: str, mask: Visibility, batch: Shape) -> None:
    shapes = mask.batch_shapes
    if _broadcast({batch, *shapes}) != batch:
        raise ShapeMismatch(
            f"Engine '{engine}' needs a mask whose batch axes expand to {tuple(batch)} but got "
            f"{[tuple(x) for x in shapes]}; bind it to the positions of these tokens."
        )


def _broadcast(shapes: set[Shape]) -> Shape | None:
    """The common shape; None where there is none."""
    if len(shapes) == 1:
        return next(iter(shapes))
    length = max(len(shape) for shape in shapes)
    columns = zip(*((1,) * (length - len(shape)) + tuple(shape) for shape in shapes), strict=True)
    sizes = [set(column) - {1} or {1} for column in columns]
    return None if any(len(size) > 1 for size in sizes) else tuple(size.pop() for size in sizes)


def _shapes(operands: Operands) -> str:
    return _listed({name: tuple(x.shape) for name, x in operands.items()})


def _listed(found: Mapping[str, object]) -> str:
    return ", ".join(f"{name} {value}" for name, value in found.items())
