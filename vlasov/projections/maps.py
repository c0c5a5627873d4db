"""The checks and the arithmetic of head maps: one affine map for each head, ``(h, rows, d)``.

A set of maps is a dictionary by field name of `Projections`; a missing bias is absent.
"""

__all__ = ["HeadMaps", "checked", "image", "own_axes", "side_by_side", "stacked"]

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor
from torch.nn.functional import linear

from vlasov._numbers import Numbers, floating, require_finite
from vlasov.errors import ShapeMismatch

HeadMaps = Mapping[str, Tensor]


def checked(given: Mapping[str, Numbers]) -> dict[str, Tensor]:
    """Maps and biases, each with a head axis and as many heads as the rest.

    Raises:
        ShapeMismatch: for maps and biases that do not fit each other.
        NotFinite: for NaN or infinity in any of them.
    """
    maps = {name: _with_heads(name, one) for name, one in given.items()}
    _require_fit(maps)
    return _same_heads(maps)


def own_axes(name: str) -> int:
    """How many axes of a map or bias follow the head axis."""
    return 1 if name.endswith("bias") else 2


def _with_heads(name: str, given: Numbers) -> Tensor:
    x, own = floating(given, name=f"The {name}"), own_axes(name)
    if x.dim() < own:
        wanted = "(k, d) or (h, k, d)" if own == 2 else "(k,) or (h, k)"
        raise ShapeMismatch(
            f"The {name} must have shape {wanted} but has {tuple(x.shape)}. "
            "For a multiple of the identity write `c * torch.eye(d)`."
        )
    require_finite(x, name=f"The {name}")
    return x.unsqueeze(0) if x.dim() == own else x


def _require_fit(maps: HeadMaps) -> None:
    k, d = maps["query"].shape[-2:]
    wanted = {"query": (k, d), "key": (k, d), "value": (d, d)}
    wanted |= {"query_bias": (k,), "key_bias": (k,), "value_bias": (d,)}
    for name, one in maps.items():
        found = tuple(one.shape[-own_axes(name) :])
        if found != wanted[name]:
            raise ShapeMismatch(
                f"A query map of shape {(k, d)} needs a {name} of shape {wanted[name]} but got "
                f"{found}. Scores pair equal widths, and values keep the width of a token."
            )


def _same_heads(maps: HeadMaps) -> dict[str, Tensor]:
    counts = {name: one.shape[-1 - own_axes(name)] for name, one in maps.items()}
    heads = max(counts.values())
    if not set(counts.values()) <= {1, heads}:
        listed = ", ".join(f"{name} {count}" for name, count in counts.items())
        raise ShapeMismatch(
            f"All maps need the same number of heads but got {listed}. "
            "Give each a head axis of that length, or none where all heads share it."
        )
    return {name: _repeated(name, one, heads) for name, one in maps.items()}


def _repeated(name: str, x: Tensor, heads: int) -> Tensor:
    own = own_axes(name)
    return x.expand(*x.shape[: -1 - own], heads, *x.shape[-own:])


def image(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """The image of ``(*batch, n, d)`` points under every head, ``(*batch, h, n, rows)``."""
    weight = weight.to(x)
    bias = None if bias is None else bias.to(x)
    if weight.dim() == 3 and (bias is None or bias.dim() == 2):
        # One product for all heads; with a single head the head axis is a free view.
        joined = linear(x, weight.flatten(0, 1), None if bias is None else bias.flatten())
        return joined.unflatten(-1, weight.shape[:2]).transpose(-2, -3)
    moved = x.unsqueeze(-3) @ weight.mT
    return moved if bias is None else moved + bias.unsqueeze(-2)


def stacked(moments: Sequence[HeadMaps], shape: tuple[int, ...]) -> dict[str, Tensor]:
    """The maps of several times as one set, with the axes `shape` in front.

    Raises:
        ShapeMismatch: where the maps of two times differ in shape, or have batch axes already.
    """
    for name, first in moments[0].items():
        shapes = {tuple(moment[name].shape) for moment in moments}
        if len(shapes) > 1 or first.dim() > 1 + own_axes(name):
            raise ShapeMismatch(
                f"Clouds at different times need a {name} of one shape without batch axes but got "
                f"{sorted(shapes)}. Run the clouds one by one."
            )
    return {
        name: torch.stack([moment[name] for moment in moments]).unflatten(0, shape)
        for name in moments[0]
    }


def side_by_side(sets: Sequence[HeadMaps]) -> dict[str, Tensor]:
    """The heads of several sets in one; a bias that only some have counts as zero."""
    if not sets:
        raise ShapeMismatch("Stacking needs one head at least but got none. Pass a full list.")
    names = sorted({name for one in sets for name in one})
    full = [
        {name: one[name] if name in one else _zero(name, one) for name in names} for one in sets
    ]
    shapes = {tuple(one["query"].shape[-2:]) for one in sets}
    if len(shapes) > 1:
        raise ShapeMismatch(
            f"Heads side by side need query maps of one shape (k, d) but got {sorted(shapes)}. "
            "Pad the narrower ones with rows of zeros: they add nothing to a score."
        )
    return {name: torch.cat([one[name] for one in full], -1 - own_axes(name)) for name in names}


def _zero(name: str, maps: HeadMaps) -> Tensor:
    """The bias that changes nothing: one number for each row of its map."""
    return torch.zeros_like(maps[name.removesuffix("_bias")][..., 0])
