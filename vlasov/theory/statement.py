"""A statement of the theory about an equation and a law, and its comparison with a run."""

__all__ = ["Checked", "Claim", "Statement", "Verdict"]

from collections.abc import Callable
from dataclasses import dataclass, field

from vlasov.theory.history import History

Claim = Callable[[History, float], "Verdict"]
"""Compares a promise with a history, within a relative slack."""


@dataclass(frozen=True)
class Verdict:
    """``"agreed"``, ``"violated"`` or ``"not checkable"``, with the numbers found."""

    verdict: str
    found: str


@dataclass(frozen=True)
class Statement:
    """What has to hold, whether it does, and what follows then.

    Attributes:
        name: the hypothesis.
        holds: whether equation and law satisfy it; None where it does not apply.
        found: the numbers behind `holds`.
        promises: what the theory says of a run where it holds.
        source: where the statement is from.
        claim: the comparison with a run; None where a run cannot tell.
    """

    name: str
    holds: bool | None
    found: str
    promises: str
    source: str
    claim: Claim | None = field(default=None, repr=False, compare=False)


@dataclass(frozen=True)
class Checked:
    """A statement and what a run says of it.

    Attributes:
        statement: the statement.
        verdict: ``"agreed"``, ``"violated"`` or ``"not checkable"``.
        found: the numbers, or why nothing can be said.
    """

    statement: Statement
    verdict: str
    found: str
