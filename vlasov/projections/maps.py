"""The arithmetic of head maps: one affine map for each head, ``(h, rows, d)``.

A set of maps is a dictionary by field name of `Projections`; a missing one is absent. All have a
head axis but the output bias, which is added once.
"""

__all__ = [
    "HeadMaps",
    "axes",
    "drawn",
    "gathered",
    "image",
    "merged",
    "own_axes",
    "side_by_side",
    "stacked",
]

import math
from collections.abc import Mapping, Sequence

import torch
from torch import Tensor
from torch.nn.functional import linear

from vlasov.errors import ShapeMismatch

HeadMaps = Mapping[str, Tensor]


def own_axes(name: str) -> int:
    """How many axes of a map or bias follow the head axis."""
    return 1 if name.endswith("bias") else 2


def axes(name: str) -> int:
    """How many axes a map or bias has without a batch."""
    return 1 if name == "output_bias" else 1 + own_axes(name)


def merged(maps: HeadMaps) -> dict[str, Tensor]:
    """Maps without an output: it is part of the value, its bias shared equally by the heads."""
    inner = {name: one for name, one in maps.items() if not name.startswith("output")}
    offsets: list[Tensor] = []
    if "output" in maps:
        inner["value"] = maps["output"] @ maps["value"]
        if "value_bias" in maps:
            carried = maps["output"] @ maps["value_bias"].unsqueeze(-1)
            offsets.append(carried.squeeze(-1))
    elif "value_bias" in maps:
        offsets.append(maps["value_bias"])
    if "output_bias" in maps:
        heads = maps["query"].shape[-3]
        shared = maps["output_bias"].unsqueeze(-2) / heads
        offsets.append(shared.expand(*shared.shape[:-2], heads, -1))
    if offsets:
        inner["value_bias"] = sum(offsets[1:], start=offsets[0])
    return inner


def drawn(
    shapes: Sequence[tuple[int, int, int]], *, seed: int, scale: float | int
) -> list[Tensor]:
    """Independent entries of N(0, scale^2 / d), in float64."""
    generator = torch.Generator().manual_seed(seed)
    maps = [torch.randn(shape, generator=generator, dtype=torch.float64) for shape in shapes]
    return [one * (scale / math.sqrt(one.shape[-1])) for one in maps]


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


def gathered(seen: Tensor, weight: Tensor | None, bias: Tensor | None) -> Tensor:
    """The sum over heads of their outputs of ``(*batch, h, n, m)``, and the bias once."""
    weight = None if weight is None else weight.to(seen)
    bias = None if bias is None else bias.to(seen)
    if weight is not None and weight.dim() == 3 and (bias is None or bias.dim() == 1):
        # One product for all heads; memory of a parameter (d, h m) is taken as it lies.
        joined = weight.transpose(0, 1).flatten(1)
        return linear(seen.transpose(-2, -3).flatten(-2), joined, bias)
    if weight is not None:
        seen = seen @ weight.mT
    total = seen.squeeze(-3) if seen.shape[-3] == 1 else seen.sum(dim=-3)
    return total if bias is None else total + bias.unsqueeze(-2)


def stacked(moments: Sequence[HeadMaps], shape: tuple[int, ...]) -> dict[str, Tensor]:
    """The maps of several times as one set, with the axes `shape` in front.

    Raises:
        ShapeMismatch: where the maps of two times differ in shape, or have batch axes already.
    """
    for name, first in moments[0].items():
        shapes = {tuple(moment[name].shape) for moment in moments}
        if len(shapes) > 1 or first.dim() > axes(name):
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
