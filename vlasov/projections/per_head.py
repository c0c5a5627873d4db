r"""Queries, keys and values of every head: affine maps, constant or depending on time.

.. math:: q_i = Q x_i + b_Q, \qquad k_i = K x_i + b_K, \qquad v_i = V x_i + b_V
"""

__all__ = ["MapOfTime", "Projections", "at_times"]

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from vlasov._numbers import Numbers, floating
from vlasov._shapes import Points
from vlasov.errors import InvalidValue, ShapeMismatch
from vlasov.projections import maps as head_maps
from vlasov.projections.path import ParameterPath

MapOfTime = Callable[[float], Numbers]
"""A map or bias as a function of the time of the equation."""

ScoreMap = Float[Tensor, "*#moments h k d"] | MapOfTime
ScoreBias = Float[Tensor, "*#moments h k"] | MapOfTime | None
ScorePoints = Float[Tensor, "... h n k"]

_NAMES = ("query", "key", "value", "query_bias", "key_bias", "value_bias")


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Projections(ParameterPath):
    """One affine map for the queries, keys and values of each head.

    Maps are ``(h, k, d)``, or ``(k, d)`` where all heads share it; values keep the width d.
    Biases are ``(h, k)`` or ``(k,)``. Each may instead be a callable of the time.

    Example:
        >>> Projections.identity(2, heads=3).heads
        3
    """

    query: ScoreMap
    key: ScoreMap
    value: Float[Tensor, "*#moments h d d"] | MapOfTime
    query_bias: ScoreBias
    key_bias: ScoreBias
    value_bias: Float[Tensor, "*#moments h d"] | MapOfTime | None

    def __init__(
        self,
        query: Numbers | MapOfTime,
        key: Numbers | MapOfTime,
        value: Numbers | MapOfTime,
        *,
        query_bias: Numbers | MapOfTime | None = None,
        key_bias: Numbers | MapOfTime | None = None,
        value_bias: Numbers | MapOfTime | None = None,
    ) -> None:
        """Maps are checked against each other; callables are tried at time 0.

        Raises:
            ShapeMismatch: for maps and biases that do not fit each other.
            NotFinite: for NaN or infinity in any of them.
        """
        given = zip(_NAMES, (query, key, value, query_bias, key_bias, value_bias), strict=True)
        present = {name: one for name, one in given if one is not None}
        moving = {name: one for name, one in present.items() if callable(one)}
        self._set({**head_maps.checked(_evaluated(present, 0.0)), **moving})

    def _set(self, fields: Mapping[str, Tensor | MapOfTime]) -> "Projections":
        for name in _NAMES:
            object.__setattr__(self, name, fields.get(name))
        return self

    @classmethod
    def of_maps(cls, maps: head_maps.HeadMaps) -> "Projections":
        """Projections of maps that are checked already, by the names of the fields."""
        return object.__new__(cls)._set(maps)

    @classmethod
    def identity(cls, d: int, heads: int = 1) -> "Projections":
        """Heads that take the tokens as they are."""
        eye = torch.eye(d, dtype=torch.float64).expand(heads, d, d)
        return cls(eye, eye, eye)

    @classmethod
    def random(
        cls,
        d: int,
        heads: int = 1,
        *,
        key_width: int | None = None,
        seed: int = 0,
        scale: float = 1,
    ) -> "Projections":
        """Independent entries of N(0, scale^2 / d), `key_width` rows for queries and keys."""
        generator = torch.Generator().manual_seed(seed)
        k = d if key_width is None else key_width
        shapes = [(heads, k, d), (heads, k, d), (heads, d, d)]
        drawn = [torch.randn(s, generator=generator, dtype=torch.float64) for s in shapes]
        return cls(*(one * (scale / math.sqrt(d)) for one in drawn))

    @classmethod
    def stack(cls, parts: Sequence["Projections"]) -> "Projections":
        """The heads of constant projections side by side; a missing bias counts as zero."""
        return cls(**head_maps.side_by_side([part.maps() for part in parts]))

    def _fields(self) -> dict[str, Tensor | MapOfTime]:
        return {name: one for name in _NAMES if (one := getattr(self, name)) is not None}

    def maps(self) -> dict[str, Tensor]:
        """Constant maps and biases, by the names of the fields.

        Raises:
            InvalidValue: for maps that depend on time.
        """
        fields = self._fields()
        constant = {name: one for name, one in fields.items() if isinstance(one, Tensor)}
        if len(constant) < len(fields):
            raise InvalidValue(
                f"Constant maps are wanted but {sorted(fields.keys() - constant.keys())} depend "
                "on time. Evaluate them first, as in `projections.at(t)`."
            )
        return constant

    @property
    def heads(self) -> int:
        """Number of heads."""
        return self.at(0.0).maps()["query"].shape[-3]

    @property
    def width(self) -> int:
        """Width of a token."""
        return self.at(0.0).maps()["query"].shape[-1]

    @property
    def has_biases(self) -> bool:
        """Whether any of the three maps has an offset."""
        return any(name.endswith("bias") for name in self._fields())

    def _now(self, t: float) -> "Projections":
        return Projections.of_maps(head_maps.checked(_evaluated(self._fields(), t)))

    def at(self, t: float | Tensor) -> "Projections":
        """The maps at `t`; themselves where they are constant."""
        constant = not any(callable(one) for one in self._fields().values())
        return self if constant else at_times(self._now, t)

    def tensors(self) -> tuple[Tensor, ...]:
        """Maps and biases; those of a callable at time 0."""
        return tuple(self.at(0.0).maps().values())

    def to(
        self, *, device: torch.device | str | None = None, dtype: torch.dtype | None = None
    ) -> "Projections":
        """The same maps on another device or in another precision."""

        def moved(one: Tensor | MapOfTime) -> Tensor | MapOfTime:
            if isinstance(one, Tensor):
                return one.to(device=device, dtype=dtype)
            return lambda t: floating(one(t), name="A map").to(device=device, dtype=dtype)

        return object.__new__(Projections)._set({k: moved(v) for k, v in self._fields().items()})

    def project(self, x: Points) -> tuple[ScorePoints, ScorePoints, Float[Tensor, "... h n d"]]:
        """Queries, keys and values of the points, in their precision and on their device.

        Raises:
            ShapeMismatch: for points of another width.
        """
        maps = self.maps()
        if x.shape[-1] != maps["query"].shape[-1]:
            raise ShapeMismatch(
                f"Projections of width {maps['query'].shape[-1]} cannot act on points of shape "
                f"{tuple(x.shape)}. Build them for the width of the tokens."
            )
        named = ((maps[name], maps.get(f"{name}_bias")) for name in _NAMES[:3])
        query, key, value = (head_maps.image(x, weight, bias) for weight, bias in named)
        return query, key, value


def _evaluated(fields: Mapping[str, Numbers | MapOfTime], t: float) -> dict[str, Numbers]:
    return {name: one(t) if callable(one) else one for name, one in fields.items()}


def at_times(now: Callable[[float], Projections], t: float | Tensor) -> Projections:
    """The maps `now` gives at `t`, joined for a tensor of times unless all are the same object."""
    if not isinstance(t, Tensor):
        return now(t)
    times: list[float] = t.detach().double().flatten().tolist()
    known = {time: now(time) for time in set(times)}
    first, *others = (known[time] for time in times)
    if all(other is first for other in others):
        return first
    joined = head_maps.stacked([known[time].maps() for time in times], tuple(t.shape))
    return Projections.of_maps(joined)
