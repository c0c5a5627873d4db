"""How large the steps are, when states are saved, and what ends a run early."""

__all__ = ["AdaptiveStep", "FixedStep", "Limits", "Plan"]

import math
from dataclasses import dataclass

from vlasov.errors import InvalidValue
from vlasov.integration.events import Event
from vlasov.integration.method import Method


def _positive(value: float | None, what: str) -> None:
    if value is not None and not (math.isfinite(value) and value > 0):
        raise InvalidValue(
            f"{what} must be a finite number above 0 but is {value:g}. Give one: backward runs "
            f"come from an end before the start."
        )


def _count(value: int | None, what: str) -> None:
    # a fraction is refused in words: nothing checks types outside the tests
    if value is not None and not (float(value).is_integer() and value >= 1):
        raise InvalidValue(
            f"{what} must be a whole number, at least 1, but is {value}. Give a count."
        )


@dataclass(frozen=True)
class FixedStep:
    """Equal steps of size `dt`; the last one before a save time, a jump or the end may be shorter.

    Raises:
        InvalidValue: unless `dt` is finite and positive.
    """

    dt: float

    def __post_init__(self) -> None:
        _positive(self.dt, "A step size")


@dataclass(frozen=True)
class AdaptiveStep:
    """Steps sized by the error estimate, separately for every system of a batch.

    A step is taken when the root mean square of ``error / (atol + rtol * max(|x_0|, |x_1|))`` over
    the system is at most 1. `first` is the first step size (None: chosen from the field),
    `largest` a ceiling.

    Raises:
        InvalidValue: for a negative or non-finite tolerance, two zero tolerances, or a size that
            is not positive.
    """

    rtol: float = 1e-6
    atol: float = 1e-9
    first: float | None = None
    largest: float | None = None

    def __post_init__(self) -> None:
        for name, value in (("rtol", self.rtol), ("atol", self.atol)):
            if not (math.isfinite(value) and value >= 0):
                raise InvalidValue(f"{name} must be finite and >= 0 but is {value}. Try 1e-6.")
        if self.rtol == self.atol == 0:
            raise InvalidValue(
                "rtol and atol are both 0, which no step can meet. Give one of them."
            )
        _positive(self.first, "The first step size")
        _positive(self.largest, "The largest step size")


@dataclass(frozen=True)
class Limits:
    """What ends a run early: a number of trial steps, and seconds of wall time for this call.

    Raises:
        InvalidValue: for a limit that is not positive.
    """

    max_steps: int | None = None
    wall_time: float | None = None

    def __post_init__(self) -> None:
        _count(self.max_steps, "max_steps")
        _positive(self.wall_time, "A wall-time limit in seconds")


@dataclass(frozen=True, eq=False)
class Plan:
    """How a problem is to be integrated.

    With `save_at`, steps land exactly on each of these times, and those states are saved. With
    `save_every`, every so many steps are saved. With neither, fixed steps save about 100 states of
    their own grid, and adaptive steps land on 101 equally spaced times. The first and last states
    are saved in any case.

    Raises:
        InvalidValue: if both ways of saving are given, or `save_every` is below 1.
    """

    method: Method
    step: FixedStep | AdaptiveStep
    save_at: tuple[float, ...] | None = None
    save_every: int | None = None
    events: tuple[Event, ...] = ()
    limits: Limits = Limits()

    def __post_init__(self) -> None:
        if self.save_at is not None and self.save_every is not None:
            raise InvalidValue("save_at and save_every are both given. Choose one of them.")
        _count(self.save_every, "save_every")
