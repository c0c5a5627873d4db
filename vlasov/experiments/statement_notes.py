"""The statements of the theory about a run, as sentences."""

__all__ = ["statement_notes"]

from vlasov.cloud import Cloud
from vlasov.gaussian import Gaussian
from vlasov.pde import TransformerPDE
from vlasov.reduction import Reduction
from vlasov.run import Run
from vlasov.theory import Statement, check, statements


def statement_notes(
    pde: TransformerPDE, start: Cloud | Gaussian, result: Run | Reduction, *, until: float
) -> tuple[str, ...]:
    """One sentence for each statement that applies: what holds, what it promises, what was seen.

    Raises:
        ShapeMismatch: for a batch of laws or maps.
    """
    found = statements(pde, start, until=until)
    return tuple(_sentence(one, result) for one in found if one.holds is not None)


def _sentence(statement: Statement, result: Run | Reduction) -> str:
    found = statement.found.removesuffix(".")
    if not statement.holds:
        return f"Does not hold: {statement.name} ({found})."
    seen = check(statement, result)
    checked = "" if seen.verdict == "not checkable" else f" In this run {seen.verdict}: "
    return (
        f"Holds: {statement.name} ({found}). Then {statement.promises} "
        f"[{statement.source}].{checked}{seen.found + '.' if checked else ''}"
    )
