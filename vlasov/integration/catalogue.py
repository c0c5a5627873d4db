"""The integrators by name."""

__all__ = ["INTEGRATORS", "build_method"]

from vlasov.catalogue import Catalogue
from vlasov.integration.doubling import Doubled
from vlasov.integration.method import Method
from vlasov.integration.splitting import Lie, Strang
from vlasov.integration.stiff import Stiff
from vlasov.integration.tableaux import TABLES

INTEGRATORS = Catalogue[Method](
    "integrator", [*(TABLES[name] for name in TABLES), Lie, Strang, Doubled, Stiff]
)
"""Every way to cross time."""


def build_method(method: str | Method) -> Method:
    """A method from its spec string, or the method itself.

    Example:
        >>> build_method("strang:inner=heun")
        Strang(inner='heun')
    """
    return INTEGRATORS.build(method) if isinstance(method, str) else method
