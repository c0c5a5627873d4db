# pyright: basic, reportCallIssue=false, reportArgumentType=false
# ruff: noqa: ANN001, ANN201, ANN202 - numba reads types off the arguments
"""The last few numbers of a row, which do not fill a register, and what all places add up to."""

__all__ = ["first", "highest", "kept", "total", "totals"]

from typing import no_type_check

import llvmlite.ir as ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from vlasov.engines.register_types import (
    FAST,
    WORD,
    Registers,
    bits,
    each,
    everywhere,
    joined,
    places_at,
)


def _beginning(builder, some, like):
    """Which places of a register come before a number of them."""
    places = everywhere(builder, builder.trunc(some, WORD), like.type)
    return builder.icmp_signed("<", ir.Constant(places.type, list(range(like.type.count))), places)


@intrinsic
@no_type_check
def first(typingctx, address, count, rest):
    """The first few numbers from an address on, fewer than a register holds, then a filling."""

    def build(context, builder, signature, arguments):
        (place,), fill = places_at(builder, arguments[0], 1), everywhere(builder, arguments[2])
        mask = _beginning(builder, arguments[1], fill)
        kind = ir.FunctionType(fill.type, [place.type, WORD, mask.type, fill.type])
        size = address.dtype.bitwidth
        name = f"llvm.masked.load.v{fill.type.count}f{size}.p0"
        function = cgutils.get_or_insert_function(builder.module, kind, name)
        return joined(builder, [builder.call(function, [place, WORD(size // 8), mask, fill])])

    return Registers(1, address.dtype)(address, types.intp, address.dtype), build


@intrinsic
@no_type_check
def kept(typingctx, x, count, rest):
    """The first few numbers of a register, then a filling."""

    def build(context, builder, signature, arguments):
        (one,), fill = each(builder, arguments[0]), everywhere(builder, arguments[2])
        mask = _beginning(builder, arguments[1], one)
        return joined(builder, [builder.select(mask, one, fill)])

    return x(x, types.intp, x.number), build


def _reduced(builder, name, operands):
    """An operation over the places of a register, the last of the operands."""
    one = operands[-1]
    number = one.type.element
    kind = ir.FunctionType(number, [x.type for x in operands])
    name = f"llvm.vector.reduce.{name}.v{one.type.count}f{bits(number)}"
    function = cgutils.get_or_insert_function(builder.module, kind, name)
    return builder.call(function, operands, fastmath=FAST)


def _sum(builder, one):
    return _reduced(builder, "fadd", [one.type.element(0.0), one])


@intrinsic
@no_type_check
def total(typingctx, x):
    """The sum over all places."""

    def build(context, builder, signature, arguments):
        first, *others = each(builder, arguments[0])
        for other in others:
            first = builder.fadd(first, other, flags=FAST)
        return _sum(builder, first)

    return x.number(x), build


@intrinsic
@no_type_check
def totals(typingctx, x):
    """The sum over the places of each register."""

    def build(context, builder, signature, arguments):
        found = [_sum(builder, one) for one in each(builder, arguments[0])]
        return context.make_tuple(builder, signature.return_type, found)

    return types.UniTuple(x.number, x.count)(x), build


@intrinsic
@no_type_check
def highest(typingctx, x):
    """The largest number of a register."""

    def build(context, builder, signature, arguments):
        return _reduced(builder, "fmax", each(builder, arguments[0]))

    return x.number(x), build
