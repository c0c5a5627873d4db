# pyright: basic, reportCallIssue=false, reportArgumentType=false
# ruff: noqa: ANN001, ANN201, ANN202 - numba reads types off the arguments
"""A few registers of the processor, of `WIDE` numbers each, as one value in compiled loops.

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
    "loaded",
    "plus",
    "product",
    "stored",
]

from typing import no_type_check

import llvmlite.binding as llvm
import llvmlite.ir as ir
from numba import types
from numba.core import cgutils
from numba.core.datamodel import models
from numba.extending import intrinsic, register_model

WIDE = 8 if llvm.get_host_cpu_features().get("avx512f") else 4
TOGETHER = 4 if WIDE == 8 else 2
"""Three times as many sums stay in registers."""
ONE, HALF, ALL = (0,), (0,) * (TOGETHER // 2), (0,) * TOGETHER
"""How many registers: zeros, whose number is part of their type."""
_DOUBLE, _WORD = ir.DoubleType(), ir.IntType(32)
VECTOR = ir.VectorType(_DOUBLE, WIDE)
FAST = ("arcp", "contract", "ninf", "nnan", "nsz", "reassoc")


class Registers(types.Type):
    """The type of some registers."""

    def __init__(self, count: int) -> None:
        self.count = count
        super().__init__(name=f"Registers{WIDE}x{count}")


@register_model(Registers)
class _Model(models.PrimitiveModel):
    def __init__(self, dmm, fe_type) -> None:
        super().__init__(dmm, fe_type, ir.ArrayType(VECTOR, fe_type.count))


def each(builder, value):
    """The registers of a value, one by one."""
    return [builder.extract_value(value, i) for i in range(value.type.count)]


def joined(builder, registers):
    """Registers as one value."""
    whole = ir.Constant(ir.ArrayType(VECTOR, len(registers)), ir.Undefined)
    for i, one in enumerate(registers):
        whole = builder.insert_value(whole, one, i)
    return whole


def everywhere(builder, x):
    """One number in all places of a register."""
    nothing = ir.Constant(ir.VectorType(x.type, WIDE), ir.Undefined)
    one = builder.insert_element(nothing, x, _WORD(0))
    return builder.shuffle_vector(
        one, nothing, ir.Constant(ir.VectorType(_WORD, WIDE), [0] * WIDE)
    )


def _places(builder, address, count):
    """Where as many registers begin."""
    first = builder.bitcast(address, VECTOR.as_pointer())
    return [builder.gep(first, [_WORD(i)], inbounds=True) for i in range(count)]


@intrinsic
@no_type_check
def loaded(typingctx, address, count):
    """The numbers from an address on."""

    def build(context, builder, signature, arguments):
        places = _places(builder, arguments[0], len(count))
        return joined(builder, [builder.load(place, align=8) for place in places])

    return Registers(len(count))(address, count), build


@intrinsic
@no_type_check
def stored(typingctx, address, x):
    """Write the numbers to an address."""

    def build(context, builder, signature, arguments):
        places = _places(builder, arguments[0], x.count)
        for place, one in zip(places, each(builder, arguments[1]), strict=True):
            builder.store(one, place, align=8)
        return context.get_dummy_value()

    return types.void(address, x), build


@intrinsic
@no_type_check
def filled(typingctx, x, count):
    """One number in all places."""

    def build(context, builder, signature, arguments):
        return joined(builder, [everywhere(builder, arguments[0])] * len(count))

    return Registers(len(count))(types.float64, count), build


@intrinsic
@no_type_check
def collected(typingctx, addresses, numbers):
    """The register at each of some addresses, times a number of its own."""

    def build(context, builder, signature, arguments):
        places, factors = (cgutils.unpack_tuple(builder, x) for x in arguments)
        registers = [builder.load(*_places(builder, place, 1), align=8) for place in places]
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
def fused(typingctx, a, b, c):
    """The products a b plus c, rounded once where the processor can."""

    def combine(builder, a, b, c):
        return builder.fadd(builder.fmul(a, b, flags=FAST), c, flags=FAST)

    return a(a, b, c), _by_place(combine)


@intrinsic
@no_type_check
def geometric(typingctx, y):
    """The powers 1, y, y^2, ... of a number in a register, and one filled with the next power."""

    def build(context, builder, signature, arguments):
        power, found, bit = everywhere(builder, arguments[0]), None, 1
        while bit < WIDE:
            odd = [int(bool(place & bit)) for place in range(WIDE)]
            mask = ir.Constant(ir.VectorType(ir.IntType(1), WIDE), odd)
            part = builder.select(mask, power, ir.Constant(VECTOR, [1.0] * WIDE))
            found = part if found is None else builder.fmul(found, part, flags=FAST)
            power, bit = builder.fmul(power, power, flags=FAST), 2 * bit
        both = [joined(builder, [x]) for x in (found, power)]
        return context.make_tuple(builder, signature.return_type, both)

    return types.UniTuple(Registers(1), 2)(types.float64), build
