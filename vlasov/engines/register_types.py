# pyright: basic, reportCallIssue=false, reportArgumentType=false
# ruff: noqa: ANN001, ANN201 - numba reads types off the arguments
"""The type of some registers of the processor, and its values while code is being built."""

__all__ = [
    "FAST",
    "ORDERED",
    "WIDE",
    "WORD",
    "Registers",
    "bits",
    "constant",
    "each",
    "everywhere",
    "joined",
    "loaded_at",
    "multiply_add",
    "places_at",
    "vector",
]

import llvmlite.binding as llvm
import llvmlite.ir as ir
from numba import types
from numba.core.datamodel import models
from numba.extending import register_model

WIDE = 8 if llvm.get_host_cpu_features().get("avx512f") else 4
"""Numbers of float64 in a register; of float32, twice as many."""
WORD = ir.IntType(32)
FAST = ("arcp", "contract", "ninf", "nnan", "nsz", "reassoc")
ORDERED = ("contract", "nsz")
"""In the order that is written, with products and sums in one step."""


class Registers(types.Type):
    """The type of some registers of numbers."""

    def __init__(self, count: int, number: types.Type = types.float64) -> None:
        self.count, self.number = count, number
        super().__init__(name=f"Registers{WIDE}x{count}{number}")


def bits(number):
    """The size of a number, from its type."""
    return 64 if isinstance(number, ir.DoubleType) else 32


def vector(number):
    """The type of a register, from that of its numbers."""
    return ir.VectorType(number, WIDE * 64 // bits(number))


@register_model(Registers)
class _Model(models.PrimitiveModel):
    def __init__(self, dmm, fe_type) -> None:
        number = dmm.lookup(fe_type.number).get_value_type()
        super().__init__(dmm, fe_type, ir.ArrayType(vector(number), fe_type.count))


def each(builder, value):
    """The registers of a value, one by one."""
    return [builder.extract_value(value, i) for i in range(value.type.count)]


def joined(builder, registers):
    """Registers as one value."""
    whole = ir.Constant(ir.ArrayType(registers[0].type, len(registers)), ir.Undefined)
    for i, one in enumerate(registers):
        whole = builder.insert_value(whole, one, i)
    return whole


def everywhere(builder, x, like=None):
    """One number in all places of a register, or of one with as many places as `like`."""
    kind = vector(x.type) if like is None else ir.VectorType(x.type, like.count)
    nothing = ir.Constant(kind, ir.Undefined)
    one = builder.insert_element(nothing, x, WORD(0))
    places = ir.Constant(ir.VectorType(WORD, kind.count), [0] * kind.count)
    return builder.shuffle_vector(one, nothing, places)


def places_at(builder, address, count):
    """Where as many registers begin, from an address on."""
    first = builder.bitcast(address, vector(address.type.pointee).as_pointer())
    return [builder.gep(first, [WORD(i)], inbounds=True) for i in range(count)]


def loaded_at(builder, place):
    """The register that begins there, on a line of memory or not."""
    return builder.load(place, align=bits(place.type.pointee.element) // 8)


def constant(kind, x):
    """A number as a constant of a type, in all places if it has several."""
    return ir.Constant(kind, [x] * kind.count if isinstance(kind, ir.VectorType) else x)


def multiply_add(builder, a, b, c):
    """The product a b plus c, rounded once where the processor can."""
    return builder.fadd(builder.fmul(a, b, flags=ORDERED), c, flags=ORDERED)
