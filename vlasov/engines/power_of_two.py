# pyright: basic, reportCallIssue=false, reportArgumentType=false
# ruff: noqa: ANN001, ANN201, ANN202 - numba reads types off the arguments
r"""The exponential to the base 2, written out, so that loops around it become vectors.

.. math:: 2^t = 2^n\, 2^r, \qquad n = \mathrm{round}(t), \quad |r| \le \tfrac12

with a polynomial for :math:`2^r`; :math:`2^n` is added to the bits of its exponent.
"""

__all__ = ["COEFFICIENTS", "LOWEST", "exponential", "logistic"]

from typing import no_type_check

import llvmlite.ir as ir
import numpy as np
from numba import njit, types
from numba.extending import intrinsic, overload

from vlasov.engines.compiling import PASTED, REORDERED

# 2^r on [-1/2, 1/2] interpolated at Chebyshev nodes: relative errors 3.2e-16 and 2e-8.
COEFFICIENTS = (
    7.072585949269223e-09, 1.0208690299958306e-07, 1.321544258792169e-06, 1.5252657260200837e-05,
    1.540353044173605e-04, 1.3333558230164974e-03, 9.618129107606888e-03, 5.550410866444772e-02,
    2.4022650695910097e-01, 6.9314718055995e-01, 1.0,
)  # fmt: skip
_SINGLE = tuple(
    np.float32(c)
    for c in (
        1.5461444854736328e-04, 1.3400427997112274e-03, 9.618056938052177e-03,
        5.550327152013779e-02, 2.4022650718688965e-01, 6.931471824645996e-01, 1.0,
    )
)  # fmt: skip

# Smaller powers count as this one; far below the largest of a row, see `direct`.
LOWEST, _LOWEST_SINGLE = -1021.0, np.float32(-125.0)


@intrinsic
@no_type_check
def _whole(typingctx, t):
    """The nearest integer."""

    def build(context, builder, signature, arguments):
        (x,) = arguments
        return builder.call(builder.module.declare_intrinsic("llvm.rint", [x.type]), [x])

    return t(t), build


@intrinsic
@no_type_check
def _times_power(typingctx, p, n):
    """The product p 2^n for an integer n held as a floating number."""
    mantissa = 52 if p is types.float64 else 23

    def build(context, builder, signature, arguments):
        value, power = arguments
        bits = ir.IntType(64 if mantissa == 52 else 32)
        # adding 1.5 * 2^mantissa leaves the integer in the last bits
        shifted = builder.fadd(power, ir.Constant(power.type, 1.5 * 2.0**mantissa))
        exponent = builder.shl(builder.bitcast(shifted, bits), ir.Constant(bits, mantissa))
        return builder.bitcast(builder.add(builder.bitcast(value, bits), exponent), value.type)

    return p(p, n), build


# Written out: a loop over the coefficients would be compiled once for each of them.
@njit(**PASTED)
@no_type_check
def _double(r):
    c = COEFFICIENTS
    p = ((((c[0] * r + c[1]) * r + c[2]) * r + c[3]) * r + c[4]) * r + c[5]
    return ((((p * r + c[6]) * r + c[7]) * r + c[8]) * r + c[9]) * r + c[10]


@njit(**PASTED)
@no_type_check
def _single(r):
    c = _SINGLE
    p = ((c[0] * r + c[1]) * r + c[2]) * r + c[3]
    return ((p * r + c[4]) * r + c[5]) * r + c[6]


@no_type_check
def exponential(t):
    """2^t."""
    raise NotImplementedError


@overload(exponential, jit_options=REORDERED)
@no_type_check
def _exponential_of(t):
    lowest, polynomial = LOWEST, _double
    if t is types.float32:
        lowest, polynomial = _LOWEST_SINGLE, _single

    def power(t):
        kept = max(t, lowest)
        whole = _whole(kept)
        return _times_power(polynomial(kept - whole), whole)

    return power


@no_type_check
def logistic(t):
    """The logistic function to the base 2, 1 / (1 + 2^-t)."""
    raise NotImplementedError


@overload(logistic, jit_options={**REORDERED, "error_model": "numpy"})
@no_type_check
def _logistic_of(t):
    # -t beyond the range of the exponential would wrap around in the bits of its exponent
    highest, one = -LOWEST, 1.0
    if t is types.float32:
        highest, one = -_LOWEST_SINGLE, np.float32(1)

    def half(t):
        return one / (one + exponential(min(-t, highest)))

    return half
