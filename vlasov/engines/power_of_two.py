# pyright: basic, reportCallIssue=false, reportArgumentType=false
# ruff: noqa: ANN001, ANN202 - numba reads types off the arguments
r"""The exponential to the base 2, written out, so that loops around it become vectors.

.. math:: 2^t = 2^n\, 2^r, \qquad n = \mathrm{round}(t), \quad |r| \le \tfrac12

with a polynomial for :math:`2^r`; :math:`2^n` is added to the bits of its exponent.
"""

__all__ = ["capped_power_of_two", "power_of_two", "sigmoid"]

from dataclasses import dataclass
from typing import no_type_check

import llvmlite.ir as ir
from numba.extending import intrinsic

from vlasov.engines.register_types import (
    FAST,
    ORDERED,
    Registers,
    bits,
    constant,
    each,
    joined,
    multiply_add,
)


@dataclass(frozen=True)
class _Format:
    """How powers of 2 are found in a number format.

    Smaller powers count as the one of `lowest`; far below the largest of a row, see `direct`. Of
    the one of `highest` many can be added. The coefficients are those of 2^r on [-1/2, 1/2],
    interpolated at Chebyshev nodes, from the constant one on.
    """

    mantissa: int
    lowest: float
    highest: float
    coefficients: tuple[float, ...]


_DOUBLE = _Format(
    mantissa=52,
    lowest=-1021.0,
    highest=990.0,
    coefficients=(  # of relative error 3.2e-16
        1.0, 6.9314718055995e-01, 2.4022650695910097e-01, 5.550410866444772e-02,
        9.618129107606888e-03, 1.3333558230164974e-03, 1.540353044173605e-04,
        1.5252657260200837e-05, 1.321544258792169e-06, 1.0208690299958306e-07,
        7.072585949269223e-09,
    ),
)  # fmt: skip
_SINGLE = _Format(
    mantissa=23,
    lowest=-125.0,
    highest=100.0,
    coefficients=(  # of relative error 2e-8
        1.0, 6.931471824645996e-01, 2.4022650718688965e-01, 5.550327152013779e-02,
        9.618056938052177e-03, 1.3400427997112274e-03, 1.5461444854736328e-04,
    ),
)  # fmt: skip
_FORMATS = {64: _DOUBLE, 32: _SINGLE}


def _format(kind):
    return _FORMATS[bits(kind.element if isinstance(kind, ir.VectorType) else kind)]


def _integers(kind):
    """The type of the bits of a number or register."""
    if isinstance(kind, ir.VectorType):
        return ir.VectorType(_integers(kind.element), kind.count)
    return ir.IntType(bits(kind))


def _horner(builder, x, coefficients):
    *lower, highest = coefficients
    found = constant(x.type, highest)
    for c in reversed(lower):
        found = multiply_add(builder, found, x, constant(x.type, c))
    return found


def _polynomial(builder, x, coefficients):
    """Even and odd powers apart, so that neither sum waits for the other."""
    square = builder.fmul(x, x, flags=ORDERED)
    even, odd = (_horner(builder, square, coefficients[i::2]) for i in (0, 1))
    return multiply_add(builder, odd, x, even)


def _raised(builder, t):
    form, kind = _format(t.type), t.type
    integers = _integers(kind)
    lowest, whole = constant(kind, form.lowest), constant(kind, 1.5 * 2.0**form.mantissa)
    some = builder.select(builder.fcmp_ordered(">", t, lowest), t, lowest)
    # Adding it leaves the nearest integer in the last bits. With a flag of their own, numba gives
    # the sum and the difference no leave to cancel each other.
    shifted = builder.fadd(some, whole, flags=("nsz",))
    rounded = builder.fsub(shifted, whole, flags=("nsz",))
    found = _polynomial(builder, builder.fsub(some, rounded), form.coefficients)
    exponent = builder.shl(builder.bitcast(shifted, integers), constant(integers, form.mantissa))
    return builder.bitcast(builder.add(builder.bitcast(found, integers), exponent), kind)


def _smaller(builder, t, most):
    highest = constant(t.type, most)
    return builder.select(builder.fcmp_ordered("<", t, highest), t, highest)


def _capped(builder, t):
    return _raised(builder, _smaller(builder, t, _format(t.type).highest))


def _logistic(builder, t):
    # -t beyond the range of the exponential would wrap around in the bits of its exponent
    opposite = _smaller(builder, builder.fneg(t), -_format(t.type).lowest)
    one = constant(t.type, 1.0)
    return builder.fdiv(one, builder.fadd(one, _raised(builder, opposite)), flags=FAST)


def _of_each(function):
    """An intrinsic for a number or registers of them."""

    @no_type_check
    def typed(typingctx, t):
        def build(context, builder, signature, arguments):
            if not isinstance(t, Registers):
                return function(builder, *arguments)
            return joined(builder, [function(builder, x) for x in each(builder, *arguments)])

        return t(t), build

    return intrinsic(typed)


power_of_two = _of_each(_raised)
"""2^t, of a number or of registers of them."""
capped_power_of_two = _of_each(_capped)
"""The same, but no more than a power of which many can be added."""
sigmoid = _of_each(_logistic)
"""The logistic function to the base 2, 1 / (1 + 2^-t)."""
