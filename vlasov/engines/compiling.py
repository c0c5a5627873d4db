"""How the compiled loops are compiled: options that numba's decorator takes."""

__all__ = ["INNER", "REORDERED", "VECTORS"]

from typing import Any

_FAST = {"arcp", "contract", "ninf", "nnan", "nsz", "reassoc"}

INNER: dict[str, Any] = {
    "nogil": True,
    "no_cpython_wrapper": True,
    "no_cfunc_wrapper": True,
    "forceinline": True,
}
"""Called from compiled code alone: nothing else is built around it.

Inlined, always: of a function that is called, numba runs one copy where it has just compiled the
caller, and another one, optimised with the caller, where it reads the caller from the cache. The
two round differently once sums may be reordered, and a resumed run would not be bit for bit.
Where compile time matters, call a function at one place.
"""
VECTORS: dict[str, Any] = {**INNER, "fastmath": _FAST}
"""The same for loops over arrays, which may be reordered into vectors."""
REORDERED: dict[str, Any] = {"fastmath": _FAST, "forceinline": True}
"""The same for implementations that numba chooses by type."""
