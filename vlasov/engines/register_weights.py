# pyright: basic, reportCallIssue=false, reportArgumentType=false
# ruff: noqa: ANN001, ANN201, ANN202 - numba reads types off the arguments
"""Powers of 2 in registers, the last few numbers of a row, which do not fill one, and totals."""

__all__ = ["first", "power_of_two", "total"]

from typing import no_type_check

import llvmlite.ir as ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from vlasov.engines.power_of_two import COEFFICIENTS, LOWEST
from vlasov.engines.registers import FAST, VECTOR, WIDE, Registers, each, everywhere, joined

_NUMBER, _WORD = ir.DoubleType(), ir.IntType(32)


def _constant(x):
    return ir.Constant(VECTOR, [x] * WIDE)


@intrinsic
@no_type_check
def power_of_two(typingctx, t):
    """2^t as in `power_of_two`; the nearest integer is what adding 1.5 2^52 leaves."""

    def build(context, builder, signature, arguments):
        return joined(builder, [_raised(builder, one) for one in each(builder, arguments[0])])

    return t(t), build


def _raised(builder, t):
    bits, lowest, whole = ir.VectorType(ir.IntType(64), WIDE), _constant(LOWEST), 1.5 * 2.0**52
    kept = builder.select(builder.fcmp_ordered(">", t, lowest), t, lowest)
    # with a flag of their own, numba gives these two no leave to cancel each other
    shifted = builder.fadd(kept, _constant(whole), flags=("nsz",))
    rounded = builder.fsub(shifted, _constant(whole), flags=("nsz",))
    rest, found = builder.fsub(kept, rounded), _constant(COEFFICIENTS[0])
    for c in COEFFICIENTS[1:]:
        found = builder.fadd(builder.fmul(found, rest, flags=FAST), _constant(c), flags=FAST)
    exponent = builder.shl(builder.bitcast(shifted, bits), ir.Constant(bits, [52] * WIDE))
    return builder.bitcast(builder.add(builder.bitcast(found, bits), exponent), VECTOR)


@intrinsic
@no_type_check
def first(typingctx, address, count, rest):
    """The first few numbers from an address on, fewer than a register holds, then a filling."""

    def build(context, builder, signature, arguments):
        place = builder.bitcast(arguments[0], VECTOR.as_pointer())
        some = everywhere(builder, builder.trunc(arguments[1], _WORD))
        order = ir.Constant(ir.VectorType(_WORD, WIDE), list(range(WIDE)))
        mask, fill = builder.icmp_signed("<", order, some), everywhere(builder, arguments[2])
        kind = ir.FunctionType(VECTOR, [place.type, _WORD, mask.type, VECTOR])
        name = f"llvm.masked.load.v{WIDE}f64.p0"
        function = cgutils.get_or_insert_function(builder.module, kind, name)
        return joined(builder, [builder.call(function, [place, _WORD(8), mask, fill])])

    return Registers(1)(address, types.intp, types.float64), build


@intrinsic
@no_type_check
def total(typingctx, x):
    """The sum over all places."""

    def build(context, builder, signature, arguments):
        first, *others = each(builder, arguments[0])
        for other in others:
            first = builder.fadd(first, other, flags=FAST)
        kind, name = ir.FunctionType(_NUMBER, [_NUMBER, VECTOR]), "llvm.vector.reduce.fadd"
        function = cgutils.get_or_insert_function(builder.module, kind, f"{name}.v{WIDE}f64")
        return builder.call(function, [_NUMBER(0.0), first], fastmath=FAST)

    return types.float64(x), build
