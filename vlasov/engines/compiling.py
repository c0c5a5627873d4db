"""How the compiled loops are compiled: options that numba's decorator takes."""

__all__ = ["ENTRY", "ENTRY_VECTORS", "INNER", "PASTED", "VECTORS"]

from typing import Any

_FAST = {"arcp", "contract", "ninf", "nnan", "nsz", "reassoc"}

ENTRY: dict[str, Any] = {"nogil": True, "cache": True, "no_cfunc_wrapper": True, "_nrt": False}
"""Called from Python, with arrays that live as long as the call, and making none of its own.

References are not counted, which is half of the code of a function that takes many arrays.
"""
ENTRY_VECTORS: dict[str, Any] = {**ENTRY, "fastmath": _FAST}
"""The same with loops over numbers, which may be reordered into vectors."""
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
PASTED: dict[str, Any] = {"inline": "always"}
"""Pasted into its callers before they are typed and optimised, and compiled with their options.

It is never optimised by itself, which costs as much as its share of the caller. Pasting copies
what is pasted, so that what has much pasted into it should be `INNER` or `VECTORS`.
"""
