"""The parameters of a phase diagram, and what is written of them: ranges and fixed values."""

__all__ = ["PARAMETERS", "Axis", "held_values", "require_distinct"]

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from vlasov.errors import InvalidValue
from vlasov.experiments.settings import choice

PARAMETERS: Mapping[str, str] = {
    "beta": "inverse temperature β",
    "a1": "first eigenvalue of A",
    "a2": "other eigenvalues of A",
    "skew": "antisymmetric part of A",
    "v1": "first eigenvalue of V",
    "v2": "other eigenvalues of V",
    "angle": "turn of V against A (degrees)",
    "anisotropy": "eigenvalue ratio of Σ(0)",
    "tilt": "turn of Σ(0) against A (degrees)",
    "scale": "factor on Σ(0)",
    "noise": "diffusion D",
}
"""Name -> what it is, as an axis is labelled."""

_POSITIVE = frozenset({"anisotropy", "scale"})
_NOT_NEGATIVE = frozenset({"noise"})
_COUNT = 31


@dataclass(frozen=True)
class Axis:
    """A parameter and its range: ``NAME=FROM:TO``, ``NAME=FROM:TO:COUNT``, and ``:log`` after it.

    Raises:
        UnknownName: for a name that is no parameter, with the nearest one.
        InvalidValue: for a range that is none, or in which the parameter has no meaning.

    Example:
        >>> Axis.parse("scale=0.01:100:5:log").values().tolist()
        [0.01, 0.1, 1.0, 10.0, 100.0]
    """

    name: str
    low: float
    high: float
    count: int = _COUNT
    log: bool = False

    def __post_init__(self) -> None:
        choice(self.name, PARAMETERS, name="parameter")
        if not (math.isfinite(self.low) and math.isfinite(self.high) and self.low < self.high):
            raise InvalidValue(
                f"The range of '{self.name}' goes up between finite numbers but got "
                f"{self.low:g}:{self.high:g}. Write it as -1:1."
            )
        if self.count < 2:
            raise InvalidValue(
                f"The range of '{self.name}' has at least 2 values but got {self.count}."
            )
        _require_meaning(self.name, self.low)
        if self.log and not self.low > 0:
            raise InvalidValue(
                f"A range even in the logarithm is above 0 but '{self.name}' begins at "
                f"{self.low:g}. Drop ':log'."
            )

    @classmethod
    def parse(cls, text: str) -> "Axis":
        """The axis that the text describes."""
        name, _, written = text.partition("=")
        parts = written.split(":")
        log = parts[-1] == "log"
        try:
            low, high = float(parts[0]), float(parts[1])
            count = [int(part) for part in parts[2 : len(parts) - log]]
        except (ValueError, IndexError):
            low, high, count = math.nan, math.nan, [0, 0]
        if len(count) > 1:
            raise InvalidValue(
                f"An axis is written NAME=FROM:TO:COUNT, as beta=-3:3:50, but got '{text}'."
            )
        return cls(name.strip(), low, high, *count, log=log)

    def values(self) -> Float[Tensor, " count"]:
        """So many values, even in the range or in its logarithm."""
        return self.at(torch.linspace(0.0, 1.0, self.count, dtype=torch.float64))

    def at(self, share: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
        """The values at these shares of the range, from 0 to 1."""
        if self.log:
            return 10 ** (math.log10(self.low) * (1 - share) + math.log10(self.high) * share)
        return self.low + (self.high - self.low) * share


def held_values(written: Sequence[str]) -> dict[str, float]:
    """Fixed values, written ``NAME=VALUE``, several joined by commas.

    Raises:
        UnknownName: for a name that is no parameter, with the nearest one.
        InvalidValue: for what is no number, or one that has no meaning for the parameter.

    Example:
        >>> held_values(["angle=30,tilt=10"])
        {'angle': 30.0, 'tilt': 10.0}
    """
    found: dict[str, float] = {}
    for part in ",".join(written).split(","):
        name, _, number = (piece.strip() for piece in part.partition("="))
        if not part.strip():
            continue
        choice(name, PARAMETERS, name="parameter")
        try:
            value = float(number)
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            raise InvalidValue(f"A fixed value is written NAME=NUMBER but got '{part.strip()}'.")
        _require_meaning(name, value)
        found[name] = value
    return found


def require_distinct(names: Iterable[str]) -> None:
    """Refuse a parameter that is given twice.

    Raises:
        InvalidValue: naming it.
    """
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise InvalidValue(f"The parameter '{name}' is given twice. Keep one of the two.")
        seen.add(name)


def _require_meaning(name: str, lowest: float) -> None:
    if (name in _POSITIVE and not lowest > 0) or (name in _NOT_NEGATIVE and lowest < 0):
        least = "above 0" if name in _POSITIVE else "at least 0"
        raise InvalidValue(f"The parameter '{name}' is {least} but got {lowest:g}. Raise it.")
