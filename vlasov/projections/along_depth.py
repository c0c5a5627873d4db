"""Parameters that change along depth: one set of maps for each layer, given or drawn at random."""

__all__ = ["LayeredProjections", "RedrawnProjections"]

import hashlib
import math
from bisect import bisect_right
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import ClassVar

import torch
from torch import Tensor

from vlasov.catalogue import nearest
from vlasov.errors import InvalidValue, ShapeMismatch, Unsupported
from vlasov.projections.at_times import at_times
from vlasov.projections.maps import HeadMaps
from vlasov.projections.path import ParameterPath
from vlasov.projections.per_head import Projections


@dataclass(frozen=True, eq=False)
class LayeredProjections(ParameterPath):
    """Layers in a row, each for `duration` of the time of the equation.

    - ``constant``: layer l acts on ``[l * duration, (l + 1) * duration)``;
    - ``linear``: layer l is met in the middle of that interval, a straight line joins the middles.

    The first layer acts before, the last one after all others.

    Attributes:
        layers: constant projections of equal shapes, the first layer first.
        duration: time in one layer, above 0.
        interpolation: ``constant`` or ``linear``.
    """

    layers: tuple[Projections, ...]
    duration: float = 1.0
    interpolation: str = "constant"

    INTERPOLATIONS: ClassVar[tuple[str, ...]] = ("constant", "linear")

    def __post_init__(self) -> None:
        _require_duration(self.duration, name="duration")
        if self.interpolation not in self.INTERPOLATIONS:
            raise nearest(self.interpolation, self.INTERPOLATIONS, kind="interpolation")
        if not self.layers:
            raise InvalidValue("One layer is needed at least but got none. Pass `layers=(...,)`.")
        first = _shapes(self.layers[0])
        for number, layer in enumerate(self.layers):
            if _shapes(layer) != first:
                raise ShapeMismatch(
                    f"All layers need maps of the same shapes but layer 0 has {first} and layer "
                    f"{number} has {_shapes(layer)}. Give all of them the same heads and biases."
                )

    @property
    def heads(self) -> int:
        """Number of heads."""
        return self.layers[0].heads

    @property
    def width(self) -> int:
        """Width of a token."""
        return self.layers[0].width

    @cached_property
    def _edges(self) -> list[float]:
        """Ends of layers, or middles of layers, where the maps change their course."""
        count = len(self.layers)
        if self.interpolation == "constant":
            return [number * self.duration for number in range(1, count)]
        return [(number + 0.5) * self.duration for number in range(count)]

    def _now(self, t: float) -> Projections:
        # The edges themselves decide: a step that lands on one is on its right, whatever rounds.
        number = bisect_right(self._edges, t)
        if self.interpolation == "constant":
            return self.layers[number]
        if number in (0, len(self.layers)):
            return self.layers[max(number - 1, 0)]
        before, after = self.layers[number - 1].parts(), self.layers[number].parts()
        fraction = (t - self._edges[number - 1]) / self.duration
        if self.layers[number - 1].refine != self.layers[number].refine:
            raise Unsupported(
                "Layers whose queries and keys are refined differently have nothing between them; "
                "use interpolation='constant'."
            )
        return self.layers[number].with_parts(_between(before, after, fraction))

    def at(self, t: float | Tensor) -> Projections:
        """The maps of the layer at `t`, or between two layers."""
        return at_times(self._now, t)

    def breakpoints(self, start: float, until: float) -> list[float]:
        """Ends of layers, or the middles between which the maps are interpolated."""
        return [t for t in self._edges if start < t < until]

    def tensors(self) -> tuple[Tensor, ...]:
        """Every tensor of every layer."""
        return tuple(tensor for layer in self.layers for tensor in layer.tensors())

    def to(
        self, *, device: torch.device | str | None = None, dtype: torch.dtype | None = None
    ) -> "LayeredProjections":
        """The same layers on another device or in another precision."""
        moved = tuple(layer.to(device=device, dtype=dtype) for layer in self.layers)
        return replace(self, layers=moved)


def _require_duration(duration: float, *, name: str) -> None:
    if not (math.isfinite(duration) and duration > 0):
        raise InvalidValue(
            f"`{name}` must be above 0 but is {duration}. It is the time spent in one layer."
        )


def _shapes(layer: Projections) -> dict[str, tuple[int, ...]]:
    return {name: tuple(one.shape) for name, one in layer.parts().items()}


def _between(before: HeadMaps, after: HeadMaps, fraction: float) -> dict[str, Tensor]:
    return {name: torch.lerp(one, after[name], fraction) for name, one in before.items()}


@dataclass(frozen=True)
class RedrawnProjections(ParameterPath):
    """Random maps, drawn anew each `every` of time: entries of N(0, scale^2 / d).

    Layer l acts on ``[l * every, (l + 1) * every)``; its draw depends on the seed and l alone, so
    a run may start anywhere.

    Attributes:
        d: width of a token.
        heads: number of heads.
        every: time between two draws, above 0.
        seed: with the number of the layer, what the draw depends on.
        scale: standard deviation of an entry times the square root of d.
        key_width: rows of the query and key maps; None for d.
        dtype: precision of the maps, drawn in fp64.
        device: device of the maps, drawn on the CPU.
    """

    d: int
    # A frozen field reads like the property that it overrides.
    heads: int = 1  # pyright: ignore[reportIncompatibleMethodOverride]
    every: float = 1.0
    seed: int = 0
    scale: float = 1.0
    key_width: int | None = None
    dtype: torch.dtype = torch.float64
    device: torch.device | str = "cpu"

    def __post_init__(self) -> None:
        _require_duration(self.every, name="every")

    @property
    def width(self) -> int:
        """Width of a token."""
        return self.d

    def _layer(self, t: float) -> int:
        near = math.floor(t / self.every)
        # The edges l * every decide: a step that lands on one is on its right, whatever rounds.
        return near + ((near + 1) * self.every <= t) - (near * self.every > t)

    def at(self, t: float | Tensor) -> Projections:
        """The maps of the layer at `t`; the same at every visit."""
        return at_times(lambda time: _drawn(self, self._layer(time)), t)

    def breakpoints(self, start: float, until: float) -> list[float]:
        """Times of the draws."""
        layers = range(self._layer(start) + 1, self._layer(until) + 1)
        return [layer * self.every for layer in layers if layer * self.every < until]

    def tensors(self) -> tuple[Tensor, ...]:
        """No tensor: random maps are constants."""
        return ()

    def to(
        self, *, device: torch.device | str | None = None, dtype: torch.dtype | None = None
    ) -> "RedrawnProjections":
        """The same draws on another device or in another precision."""
        return replace(self, device=device or self.device, dtype=dtype or self.dtype)


@lru_cache(maxsize=4)
def _drawn(path: RedrawnProjections, layer: int) -> Projections:
    """The maps of one layer; the stages of a step ask for the same ones again."""
    digest = hashlib.blake2b(f"{path.seed}:{layer}".encode(), digest_size=7).digest()
    drawn = Projections.random(
        path.d,
        path.heads,
        key_width=path.key_width,
        seed=int.from_bytes(digest, "big"),
        scale=path.scale,
    )
    return drawn.to(device=path.device, dtype=path.dtype)
