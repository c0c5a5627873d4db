"""What certified engines say about their sums: collected while they work."""

__all__ = ["EngineReport", "collecting", "note"]

import contextlib
from collections.abc import Generator
from contextvars import ContextVar
from dataclasses import dataclass


@dataclass(frozen=True)
class EngineReport:
    """One or many sums: how large the error can be, and where the time went.

    `bound` is the largest over the targets of a bound of the absolute error of the average (of any
    coordinate), `log_bound` that of a log-sum; both before the answer is rounded to the number
    format of the tokens. Shares are of pairs of tokens.
    """

    engine: str
    bound: float
    pruned: float
    expanded: float
    direct: float
    seconds: float
    sums: int = 1
    log_bound: float = 0.0

    def joined(self, other: "EngineReport") -> "EngineReport":
        """Both together: the larger bound, shares weighted by the number of sums."""
        total = self.sums + other.sums

        def mean(a: float, b: float) -> float:
            return (a * self.sums + b * other.sums) / total

        return EngineReport(
            self.engine,
            max(self.bound, other.bound),
            mean(self.pruned, other.pruned),
            mean(self.expanded, other.expanded),
            mean(self.direct, other.direct),
            self.seconds + other.seconds,
            total,
            max(self.log_bound, other.log_bound),
        )


_COLLECTED: ContextVar[list[EngineReport] | None] = ContextVar("engine reports", default=None)


@contextlib.contextmanager
def collecting() -> Generator[list[EngineReport], None, None]:
    """A list that holds, once a certified sum was made inside, the report of all of them."""
    found: list[EngineReport] = []
    token = _COLLECTED.set(found)
    try:
        yield found
    finally:
        _COLLECTED.reset(token)


def note(report: EngineReport) -> None:
    """Add the report of a sum to the list of whoever collects."""
    found = _COLLECTED.get()
    if found is not None:
        found[:] = [found[0].joined(report)] if found else [report]
