"""The statements of the theory about a run, as sentences."""

__all__ = ["statement_notes"]

import torch

from vlasov.cloud import Cloud
from vlasov.errors import VlasovError
from vlasov.gaussian import Gaussian
from vlasov.pde import TransformerPDE
from vlasov.reduction import Reduction
from vlasov.run import Run
from vlasov.theory import Statement, check, statements


def statement_notes(
    pde: TransformerPDE,
    start: Cloud | Gaussian,
    result: Run | Reduction,
    *,
    until: float,
    slack: float = 1e-6,
    checked: bool = True,
) -> tuple[str, ...]:
    """One sentence for each statement that applies: what holds, what it promises, what was seen.

    Promises are compared with the result, to the relative `slack`, unless `checked` is false.
    Where nothing can be evaluated, as for a batch, the reason is the only sentence.
    """
    try:
        return tuple(
            _sentence(one, result if checked else None, slack)
            for one in statements(pde, start, until=until)
            if one.holds is not None
        )
    except (VlasovError, torch.linalg.LinAlgError) as error:  # pyright: ignore[reportPrivateImportUsage]
        # what the theory says must not cost the user the run
        reason = str(error).splitlines()[0]
        return (f"No statement of the theory could be evaluated: {reason}",)


def _sentence(statement: Statement, result: Run | Reduction | None, slack: float) -> str:
    found = statement.found.removesuffix(".")
    if not statement.holds:
        return f"Does not hold: {statement.name} ({found})."
    sentence = (
        f"Holds: {statement.name} ({found}). Then {statement.promises} [{statement.source}]."
    )
    if result is None:
        return sentence
    seen = check(statement, result, slack=slack)
    if seen.verdict == "not checkable":
        return sentence
    return f"{sentence} In this run {seen.verdict}: {seen.found}."
