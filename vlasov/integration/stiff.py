"""An L-stable method for small stiff systems: scipy's implicit solvers."""

__all__ = ["Stiff"]

from dataclasses import dataclass

from vlasov.catalogue import nearest
from vlasov.integration.method import Method

_SOLVERS = ("radau", "bdf")


@dataclass(frozen=True)
class Stiff(Method):
    """An implicit method for stiff fields and long plateaus, on single small systems.

    `method` is ``radau`` (Radau IIA of order 5, L-stable) or ``bdf`` (orders 1 to 5, L-stable up
    to order 2), both of scipy. Tolerances are those of `AdaptiveStep`. On a manifold the field is
    extended by ``retract(x) - x``, which vanishes there and pulls back from outside; states are
    retracted where they are handed out.

    Source: Hairer, Wanner, Solving ODEs II, IV.8; L. F. Shampine, M. W. Reichelt, SIAM J. Sci.
        Comput. 18 (1997).

    Raises:
        UnknownName: for another method.
    """

    name = "stiff"
    order = 5
    method: str = "radau"

    def __post_init__(self) -> None:
        if self.method not in _SOLVERS:
            raise nearest(self.method, _SOLVERS, kind="stiff method")
