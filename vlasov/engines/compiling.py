"""How the compiled loops are compiled: options that numba's decorator takes."""

__all__ = ["INNER", "VECTORS"]

from typing import Any

from vlasov.engines.power_of_two import FAST

INNER: dict[str, Any] = {"nogil": True, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
"""Called from compiled code alone: nothing else is built around it."""
VECTORS: dict[str, Any] = {**INNER, "fastmath": FAST}
"""The same for loops over arrays, which may be reordered into vectors."""
