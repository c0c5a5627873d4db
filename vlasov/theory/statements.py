"""The two questions: which statements hold here, and does a run agree with them."""

__all__ = ["check", "statements"]

from vlasov.pde import TransformerPDE
from vlasov.reduction.heads import obstacle
from vlasov.reduction.result import Reduction
from vlasov.run import Run
from vlasov.theory.case import Case, Start, case_of
from vlasov.theory.covariance import covariance_statements
from vlasov.theory.history import history_of
from vlasov.theory.limits import limit_statements
from vlasov.theory.maps import map_statements
from vlasov.theory.statement import Checked, Statement
from vlasov.theory.support import support_statements


def statements(pde: TransformerPDE, start: Start, *, until: float = 1.0) -> tuple[Statement, ...]:
    """What the theory says of an equation and a law, hypothesis by hypothesis.

    Statements about covariances take a cloud by its moments; what they promise then concerns the
    Gaussian law with these moments, except under linear attention.

    Args:
        pde: the equation.
        start: a cloud or a Gaussian law at time 0.
        until: the time for which bounds are evaluated.

    Raises:
        ShapeMismatch: for a batch of laws or maps.
        InvalidValue: for a time that is not finite and positive.

    Example:
        >>> from vlasov.gaussian import Gaussian
        >>> found = statements(TransformerPDE("sinkhorn"), Gaussian([0.0], [[1.0]]))
        >>> [one.promises for one in found if one.name == "Sinkhorn: columns sum to one"]
        ['the mean is e^(tV/eps) times its start, for any law']
    """
    case = case_of(pde, start, until)
    return (
        _bare(case),
        *support_statements(case),
        *map_statements(case),
        *covariance_statements(case),
        *limit_statements(case),
    )


def check(statement: Statement, result: Run | Reduction, *, slack: float = 1e-6) -> Checked:
    """Whether a run keeps what a statement promises.

    Args:
        statement: one of `statements` for the equation and the start of the run.
        result: a simulation of one cloud or a reduction of one law.
        slack: relative excess that integration errors may explain.

    Raises:
        ShapeMismatch: for the run of a batch.
    """
    if statement.holds is not True and statement.claim is None:
        return Checked(statement, "not checkable", "the hypothesis does not hold")
    if statement.claim is None:
        return Checked(statement, "not checkable", "one run cannot tell")
    verdict = statement.claim(history_of(result), slack)
    return Checked(statement, verdict.verdict, verdict.found)


def _bare(case: Case) -> Statement:
    found = obstacle(case.pde, masked=True)
    return Statement(
        "constant maps alone in R^d",
        found is None,
        "no terms, noise or biases" if found is None else f"the equation has {found}",
        "the statements below; without it few are known",
        "spec 0",
    )
