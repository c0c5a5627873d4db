# pyright: basic, reportCallIssue=false, reportArgumentType=false
# ruff: noqa: ANN001, ANN201, ANN202 - numba reads types off the arguments
"""A few registers of the processor as one value in compiled loops.

For loops that are short, or whose sums must stay in registers: there the compiler's own vectors
are half as wide as the processor allows, or a loop takes longer to begin than to run. A processor
without such registers takes two narrow ones for one. Values of as many registers are added and
multiplied place by place.
"""

__all__ = [
    "ALL",
    "HALF",
    "ONE",
    "TOGETHER",
    "WIDE",
    "collected",
    "filled",
    "fused",
    "geometric",
    "higher",
    "loaded",
    "plus",
    "product",
    "spread",
    "stored",
    "width",
]

from typing import no_type_check

import llvmlite.ir as ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from vlasov.engines.register_types import (
    FAST,
    WIDE,
    Registers,
    each,
    everywhere,
    joined,
    loaded_at,
    multiply_add,
    places_at,
    vector,
)

TOGETHER = 4 if WIDE == 8 else 2
"""Three times as many sums stay in registers."""
ONE, HALF, ALL = (0,), (0,) * (TOGETHER // 2), (0,) * TOGETHER
"""How many registers: zeros, whose number is part of their type."""


@intrinsic
@no_type_check
def width(typingctx, address):
    """How many of the numbers at an address a register holds."""
    kind = address.dtype

    def build(context, builder, signature, arguments):
        return context.get_constant(types.intp, vector(context.get_data_type(kind)).count)

    return types.intp(address), build


@intrinsic
@no_type_check
def loaded(typingctx, address, count):
    """The numbers from an address on."""

    def build(context, builder, signature, arguments):
        places = places_at(builder, arguments[0], len(count))
        return joined(builder, [loaded_at(builder, place) for place in places])

    return Registers(len(count), address.dtype)(address, count), build


@intrinsic
@no_type_check
def stored(typingctx, address, x):
    """Write the numbers to an address."""

    def build(context, builder, signature, arguments):
        places = places_at(builder, arguments[0], x.count)
        for place, one in zip(places, each(builder, arguments[1]), strict=True):
            builder.store(one, place, align=x.number.bitwidth // 8)
        return context.get_dummy_value()

    return types.void(address, x), build


@intrinsic
@no_type_check
def filled(typingctx, x, count):
    """One number in all places."""
    number = x if isinstance(x, types.Float) else types.float64

    def build(context, builder, signature, arguments):
        return joined(builder, [everywhere(builder, arguments[0])] * len(count))

    return Registers(len(count), number)(number, count), build


@intrinsic
@no_type_check
def spread(typingctx, address, count):
    """The numbers from an address on, each in all places of a register of its own."""

    def build(context, builder, signature, arguments):
        steps = [ir.IntType(32)(i) for i in range(len(count))]
        numbers = [builder.load(builder.gep(arguments[0], [i])) for i in steps]
        return joined(builder, [everywhere(builder, x) for x in numbers])

    return Registers(len(count), address.dtype)(address, count), build


@intrinsic
@no_type_check
def collected(typingctx, addresses, numbers):
    """The register at each of some addresses, times a number of its own."""

    def build(context, builder, signature, arguments):
        places, factors = (cgutils.unpack_tuple(builder, x) for x in arguments)
        registers = [loaded_at(builder, *places_at(builder, place, 1)) for place in places]
        filled = [everywhere(builder, factor) for factor in factors]
        products = zip(registers, filled, strict=True)
        return joined(builder, [builder.fmul(a, b, flags=FAST) for a, b in products])

    return Registers(len(addresses))(addresses, numbers), build


def _by_place(combine):
    """An intrinsic for values of as many registers, from one for their places."""

    @no_type_check
    def build(context, builder, signature, arguments):
        sides = zip(*(each(builder, x) for x in arguments), strict=True)
        return joined(builder, [combine(builder, *some) for some in sides])

    return build


@intrinsic
@no_type_check
def plus(typingctx, a, b):
    """The sums a + b."""
    return a(a, b), _by_place(lambda builder, *x: builder.fadd(*x, flags=FAST))


@intrinsic
@no_type_check
def product(typingctx, a, b):
    """The products a b."""
    return a(a, b), _by_place(lambda builder, *x: builder.fmul(*x, flags=FAST))


@intrinsic
@no_type_check
def higher(typingctx, a, b):
    """The larger number of each two."""

    def combine(builder, a, b):
        return builder.select(builder.fcmp_ordered(">", a, b), a, b)

    return a(a, b), _by_place(combine)


@intrinsic
@no_type_check
def fused(typingctx, a, b, c):
    """The products a b plus c, rounded once where the processor can."""
    return a(a, b, c), _by_place(multiply_add)


@intrinsic
@no_type_check
def geometric(typingctx, y):
    """The powers 1, y, y^2, ... of a number in a register, and one filled with the next power."""

    def build(context, builder, signature, arguments):
        power, found, bit = everywhere(builder, arguments[0]), None, 1
        while bit < WIDE:
            odd = [int(bool(place & bit)) for place in range(WIDE)]
            mask = ir.Constant(ir.VectorType(ir.IntType(1), WIDE), odd)
            part = builder.select(mask, power, ir.Constant(power.type, [1.0] * WIDE))
            found = part if found is None else builder.fmul(found, part, flags=FAST)
            power, bit = builder.fmul(power, power, flags=FAST), 2 * bit
        both = [joined(builder, [x]) for x in (found, power)]
        return context.make_tuple(builder, signature.return_type, both)

    return types.UniTuple(Registers(1), 2)(types.float64), build
