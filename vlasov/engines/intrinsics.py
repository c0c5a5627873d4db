# pyright: basic, reportCallIssue=false, reportArgumentType=false
# ruff: noqa: ANN001, ANN201, ANN202 - numba reads types off the arguments
"""Instructions that numba does not offer: plain addresses, room on the stack, the larger of two.

An address is indexed like an array; it has no shape, no check and no count of references. A slice
is ten times the code, and compiling that was most of a first call. What an address points to must
live as long as the call.
"""

__all__ = ["aligned", "larger", "past", "room", "smaller", "start"]

from typing import no_type_check

import llvmlite.ir as ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

_LINE = 64
"""Bytes of a line of memory."""


@intrinsic
@no_type_check
def start(typingctx, array, index):
    """The address of entry `index`, along the first axis, of an array whose layout is C."""
    if array.layout != "C":
        return None

    def build(context, builder, signature, arguments):
        found = context.make_array(array)(context, builder, arguments[0])
        offset = arguments[1]
        for size in cgutils.unpack_tuple(builder, found.shape)[1:]:
            offset = builder.mul(offset, size)
        return builder.gep(found.data, [offset], inbounds=True)

    return types.CPointer(array.dtype)(array, types.intp), build


@intrinsic
@no_type_check
def past(typingctx, address, count):
    """The address so many numbers further on."""

    def build(context, builder, signature, arguments):
        return builder.gep(arguments[0], [arguments[1]], inbounds=True)

    return address(address, types.intp), build


@intrinsic
@no_type_check
def aligned(typingctx, address):
    """The first address from here on where a line of memory begins."""

    def build(context, builder, signature, arguments):
        whole = ir.IntType(64)
        number = builder.add(builder.ptrtoint(arguments[0], whole), whole(_LINE - 1))
        return builder.inttoptr(builder.and_(number, whole(-_LINE)), arguments[0].type)

    return address(address), build


@intrinsic
@no_type_check
def room(typingctx, count, kind):
    """The address of as many numbers like `kind` on the stack; called once, outside of loops."""
    number = types.unliteral(kind)

    def build(context, builder, signature, arguments):
        return builder.alloca(context.get_data_type(number), arguments[0])

    return types.CPointer(number)(types.intp, number), build


def _extreme(name):
    """An intrinsic for a number of two, which becomes a vector where the built-in one does not."""

    @no_type_check
    def chosen(typingctx, a, b):
        def build(context, builder, signature, arguments):
            kind = arguments[0].type
            call = ir.FunctionType(kind, [kind, kind])
            function = builder.module.declare_intrinsic(name, [kind], call)
            return builder.call(function, arguments, fastmath=("nnan", "nsz"))

        return a(a, a), build

    return intrinsic(chosen)


larger, smaller = _extreme("llvm.maxnum"), _extreme("llvm.minnum")
