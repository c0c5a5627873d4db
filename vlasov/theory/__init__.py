"""What the theory says of an equation and a law, and whether a run agrees."""

from vlasov.theory.constants import Constants, lipschitz
from vlasov.theory.growth import existence_time, log_stability, support_radius
from vlasov.theory.statement import Checked, Statement
from vlasov.theory.statements import check, statements

__all__ = [
    "Checked",
    "Constants",
    "Statement",
    "check",
    "existence_time",
    "lipschitz",
    "log_stability",
    "statements",
    "support_radius",
]
