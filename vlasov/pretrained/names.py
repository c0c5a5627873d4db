"""Tensor names of a checkpoint against those that are expected: nothing is silently skipped."""

__all__ = [
    "IGNORED",
    "PREFIXES",
    "bare",
    "checked",
    "require_layers",
    "require_names",
    "require_shape",
]

from collections.abc import Iterable, Mapping

import torch
from torch import Tensor

from vlasov.errors import InvalidValue, NotFinite, ShapeMismatch

PREFIXES = ("module.", "_orig_mod.", "bert.")
"""What wrappers put in front of every name (case E06), in any order and number."""

IGNORED = ("embeddings.position_ids", "embeddings.token_type_ids", "pooler.", "cls.")
"""Beginnings of names that a pretrained BERT may carry and its encoder does not use."""


def bare(name: str) -> str:
    """A tensor's name without the prefixes of wrappers.

    Example:
        >>> bare("module._orig_mod.bert.pooler.dense.bias")
        'pooler.dense.bias'
    """
    for prefix in PREFIXES:
        if name.startswith(prefix):
            return bare(name.removeprefix(prefix))
    return name


def checked(
    found: Mapping[str, Tensor], expected: Mapping[str, tuple[int, ...]]
) -> tuple[dict[str, Tensor], tuple[str, ...]]:
    """The expected tensors in float32 by bare name, and the names in the file left aside.

    Raises:
        InvalidValue: if a name is missing, unknown or there twice, or a tensor is not real.
        ShapeMismatch: if a tensor has another shape than the config promises.
        NotFinite: if a tensor holds NaN or infinity.
    """
    named = _unwrapped(found)
    ignored = tuple(sorted(name for name in named if name.startswith(IGNORED)))
    require_names(
        set(named) - set(ignored),
        expected,
        source="config.json",
        advice="Use a BERT encoder with the config.json that belongs to it.",
    )
    return {name: _fitting(name, named[name], expected[name]) for name in expected}, ignored


def require_layers(layers: int, tensors: int, *, source: str) -> None:
    """Refuse more layers than there are tensors, before all their names are made.

    Raises:
        InvalidValue: if there are.
    """
    if layers > tensors:
        raise InvalidValue(
            f"{source} promises {layers} layers but the file holds {tensors} tensors in all. "
            f"Use weights that belong to it."
        )


def require_names(
    found: Iterable[str], expected: Iterable[str], *, source: str, advice: str
) -> None:
    """Refuse tensors other than those that `source`, where the sizes are written, promises.

    Raises:
        InvalidValue: if a name is missing or unknown.
    """
    missing, unknown = sorted({*expected} - {*found}), sorted({*found} - {*expected})
    if missing or unknown:
        raise InvalidValue(
            f"The tensors do not fit {source}. Missing: {_listed(missing)}. "
            f"Unknown: {_listed(unknown)}. {advice}"
        )


def require_shape(
    name: str, found: tuple[int, ...], wanted: tuple[int, ...], *, source: str
) -> None:
    """Refuse a tensor of another shape than `source` promises.

    Raises:
        ShapeMismatch: if it has one.
    """
    if found != wanted:
        raise ShapeMismatch(
            f"{source} promises shape {wanted} for '{name}' but the file holds {found}. "
            f"Use weights that belong to it."
        )


def _unwrapped(found: Mapping[str, Tensor]) -> dict[str, Tensor]:
    named: dict[str, Tensor] = {}
    for name, tensor in found.items():
        if bare(name) in named:
            raise InvalidValue(
                f"The file holds '{bare(name)}' twice, under different prefixes. Keep one of them."
            )
        named[bare(name)] = tensor
    return named


def _fitting(name: str, tensor: Tensor, shape: tuple[int, ...]) -> Tensor:
    require_shape(name, tuple(tensor.shape), shape, source="config.json")
    if not tensor.is_floating_point():
        raise InvalidValue(
            f"'{name}' should hold real numbers but is of {tensor.dtype}. Save it in float32."
        )
    weights = tensor.to(torch.float32)
    if not bool(weights.isfinite().all()):
        raise NotFinite(f"'{name}' holds NaN or infinity. Copy or train the checkpoint again.")
    return weights


def _listed(names: list[str]) -> str:
    shown = ", ".join(names[:6]) or "none"
    return f"{shown} and {len(names) - 6} more" if len(names) > 6 else shown
