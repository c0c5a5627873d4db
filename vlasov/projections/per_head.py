r"""Queries, keys and values of every head: affine maps, constant or depending on time.

.. math:: q_i = Q x_i + b_Q, \qquad k_i = K x_i + b_K, \qquad v_i = V x_i + b_V

With an output map heads average narrow values, and :math:`\sum_h O_h \bar v^h_i + b_O` has the
width of a token: averages are linear in v, so this is the value map :math:`O_h V_h`.
"""

__all__ = ["Projections"]

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from vlasov._numbers import Numbers
from vlasov._shapes import Points
from vlasov.errors import Unsupported
from vlasov.projections import maps as head_maps
from vlasov.projections.at_times import at_times
from vlasov.projections.map_checks import checked, require_width
from vlasov.projections.map_of_time import MapOfTime, constant, evaluated, moved
from vlasov.projections.path import ParameterPath, QueriesAndKeys

ScoreMap = Float[Tensor, "*#moments h k d"] | MapOfTime
ScoreBias = Float[Tensor, "*#moments h k"] | MapOfTime | None
ScorePoints = Float[Tensor, "... h n k"]

_MAPS = ("query", "key", "value", "output")
_NAMES = (*_MAPS, *(f"{name}_bias" for name in _MAPS))


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Projections(ParameterPath):
    """One affine map for the queries, keys and values of each head.

    Maps are ``(h, k, d)``, or ``(k, d)`` where all heads share it; values keep the width d, or
    have the width m of an output map ``(h, d, m)``. Biases are ``(h, k)`` or ``(k,)``; that of the
    output is added once, ``(d,)``. Each may instead be a callable of the time. `refine` is what
    happens to all queries and keys after the maps, such as rotary positions.

    Example:
        >>> Projections.identity(2, heads=3).heads
        3
    """

    query: ScoreMap
    key: ScoreMap
    value: Float[Tensor, "*#moments h m d"] | MapOfTime
    output: Float[Tensor, "*#moments h d m"] | MapOfTime | None
    query_bias: ScoreBias
    key_bias: ScoreBias
    value_bias: Float[Tensor, "*#moments h m"] | MapOfTime | None
    output_bias: Float[Tensor, "*#moments d"] | MapOfTime | None
    refine: QueriesAndKeys | None

    def __init__(  # noqa: PLR0913 - one argument per map and bias
        self,
        query: Numbers | MapOfTime,
        key: Numbers | MapOfTime,
        value: Numbers | MapOfTime,
        output: Numbers | MapOfTime | None = None,
        *,
        query_bias: Numbers | MapOfTime | None = None,
        key_bias: Numbers | MapOfTime | None = None,
        value_bias: Numbers | MapOfTime | None = None,
        output_bias: Numbers | MapOfTime | None = None,
        refine: QueriesAndKeys | None = None,
    ) -> None:
        """Maps are checked against each other; callables are tried at time 0.

        Raises:
            ShapeMismatch: for maps and biases that do not fit each other.
            NotFinite: for NaN or infinity in any of them.
        """
        biases = (query_bias, key_bias, value_bias, output_bias)
        given = zip(_NAMES, (query, key, value, output, *biases), strict=True)
        present = {name: one for name, one in given if one is not None}
        moving = {name: one for name, one in present.items() if callable(one)}
        self._set({**checked(evaluated(present, 0.0)), **moving}, refine)

    def _set(
        self, fields: Mapping[str, Tensor | MapOfTime], refine: QueriesAndKeys | None
    ) -> "Projections":
        for name in _NAMES:
            object.__setattr__(self, name, fields.get(name))
        object.__setattr__(self, "refine", refine)
        return self

    @classmethod
    def of_maps(
        cls, maps: head_maps.HeadMaps, refine: QueriesAndKeys | None = None
    ) -> "Projections":
        """Projections of maps that are checked already, by the names of the fields."""
        return object.__new__(cls)._set(maps, refine)

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
        scores = (heads, d if key_width is None else key_width, d)
        return cls(*head_maps.drawn((scores, scores, (heads, d, d)), seed=seed, scale=scale))

    @classmethod
    def stack(cls, parts: Sequence["Projections"]) -> "Projections":
        """The heads of constant projections side by side; a missing bias counts as zero."""
        return cls.of_maps(checked(head_maps.side_by_side([part.maps() for part in parts])))

    def _fields(self) -> dict[str, Tensor | MapOfTime]:
        return {name: one for name in _NAMES if (one := getattr(self, name)) is not None}

    def parts(self) -> dict[str, Tensor]:
        """Constant maps and biases as applied, by field; InvalidValue if they depend on time."""
        return constant(self._fields())

    def maps(self) -> dict[str, Tensor]:
        """Constant affine maps of R^d, by the names of the fields; values include the output map.

        The heads share an output bias equally, which is exact where the weights of a row sum to 1.

        Raises:
            Unsupported: where queries and keys are no affine maps of the tokens.
        """
        if self.refine is not None:
            raise Unsupported(
                f"Affine maps are wanted but queries and keys pass through {self.refine} too; "
                "simulate tokens, or take projections without it."
            )
        return head_maps.merged(self.parts())

    @property
    def heads(self) -> int:
        """Number of heads."""
        return self.at(0.0).parts()["query"].shape[-3]

    @property
    def width(self) -> int:
        """Width of a token."""
        return self.at(0.0).parts()["query"].shape[-1]

    @property
    def has_biases(self) -> bool:
        """Whether any map has an offset."""
        return any(name.endswith("bias") for name in self._fields())

    def with_parts(self, maps: head_maps.HeadMaps) -> "Projections":
        """These projections with other maps, checked already."""
        return Projections.of_maps(maps, self.refine)

    def _now(self, t: float) -> "Projections":
        return self.with_parts(checked(evaluated(self._fields(), t)))

    def at(self, t: float | Tensor) -> "Projections":
        """The maps at `t`; themselves where they are constant."""
        moving = any(callable(one) for one in self._fields().values())
        return at_times(self._now, t) if moving else self

    def tensors(self) -> tuple[Tensor, ...]:
        """Maps and biases; those of a callable at time 0."""
        return tuple(self.at(0.0).parts().values())

    def to(
        self, *, device: torch.device | str | None = None, dtype: torch.dtype | None = None
    ) -> "Projections":
        """The same maps on another device or in another precision."""
        fields = {name: moved(one, device, dtype) for name, one in self._fields().items()}
        return object.__new__(Projections)._set(fields, self.refine)

    def project(self, x: Points) -> tuple[ScorePoints, ScorePoints, Float[Tensor, "... h n m"]]:
        """Queries, keys and values of the points, in their precision and on their device.

        Raises:
            ShapeMismatch: for points of another width.
        """
        maps = self.parts()
        require_width(maps, x)
        named = ((maps[name], maps.get(f"{name}_bias")) for name in _MAPS[:3])
        query, key, value = (head_maps.image(x, weight, bias) for weight, bias in named)
        return (query, key, value) if self.refine is None else (*self.refine(query, key), value)

    def gather(self, seen: Float[Tensor, "... h n m"]) -> Points:
        """What the heads saw, brought back to the width of a token and summed over them."""
        maps = self.parts()
        return head_maps.gathered(seen, maps.get("output"), maps.get("output_bias"))
