# pyright: basic, reportCallIssue=false, reportArgumentType=false
# ruff: noqa: ANN001, ANN201, ANN202 - numba reads types off the arguments
"""One query and the keys of a tile, whose coordinates stand each in a row of its own.

A tile is an address and the numbers from one row to the next: a row for each coordinate of the
keys, one of logits, a row for each of the values. The query is a register for each coordinate,
so that their number is part of its type.
"""

__all__ = ["largest", "unchanged", "weighted"]

from typing import no_type_check

from numba import njit
from numba.extending import intrinsic

from vlasov.engines.compiling import INNER
from vlasov.engines.intrinsics import past
from vlasov.engines.register_ends import highest, kept, total, totals
from vlasov.engines.register_types import (
    ORDERED,
    constant,
    each,
    joined,
    loaded_at,
    multiply_add,
    places_at,
)
from vlasov.engines.registers import ONE, filled, higher, loaded, plus, width


def _rows(builder, address, stride, count):
    """A register of each of some rows, the first of which is at an address."""
    steps = [builder.mul(stride, stride.type(c)) for c in range(count)]
    places = [builder.gep(address, [step], inbounds=True) for step in steps]
    return [loaded_at(builder, *places_at(builder, place, 1)) for place in places]


def _chain(builder, products, found):
    for a, b in products:
        found = multiply_add(builder, a, b, found)
    return found


@intrinsic
@no_type_check
def _scores(typingctx, query, address, stride, so_far):
    """The scalar products of a query with the keys at an address, added to what there is.

    By two chains of sums, neither of which waits for the other.
    """

    def build(context, builder, signature, arguments):
        (found,) = each(builder, arguments[3])
        rows = _rows(builder, *arguments[1:3], query.count)
        products = list(zip(each(builder, arguments[0]), rows, strict=True))
        found = _chain(builder, products[::2], found)
        other = _chain(builder, products[1::2], constant(found.type, 0.0))
        return joined(builder, [builder.fadd(found, other, flags=ORDERED)])

    return so_far(query, address, stride, so_far), build


@intrinsic
@no_type_check
def _added(typingctx, sums, address, stride, weight):
    """The values at an address, weighted, added to the sums of each of them."""

    def build(context, builder, signature, arguments):
        found, (weight,) = each(builder, arguments[0]), each(builder, arguments[3])
        rows = _rows(builder, *arguments[1:3], sums.count)
        pairs = zip(found, rows, strict=True)
        return joined(builder, [multiply_add(builder, weight, x, a) for a, x in pairs])

    return sums(sums, address, stride, weight), build


@njit(**INNER)
@no_type_check
def unchanged(scores):
    """The scores as weights."""
    return scores


@njit(**INNER)
@no_type_check
def largest(query, tile, seen, so_far):
    """The largest exponent of a query over the keys seen of a tile, or what it was `so_far`."""
    near, logits, _, stride = tile
    lanes, top = width(near), filled(so_far, ONE)
    whole = seen - seen % lanes
    for j in range(0, whole, lanes):
        exponents = _scores(query, past(near, j), stride, loaded(past(logits, j), ONE))
        top = higher(top, exponents)
    if whole < seen:
        exponents = _scores(query, past(near, whole), stride, loaded(past(logits, whole), ONE))
        top = higher(top, kept(exponents, seen - whole, so_far))
    return highest(top)


@njit(**INNER)
@no_type_check
def weighted(query, tile, seen, shift, weigh, nothing):
    """The sum of the weights of the keys seen of a tile, and of the weighted values.

    The exponents are lowered by a shift; `weigh` makes weights of them.
    """
    near, logits, far, stride = tile
    lanes, lowered = width(near), filled(-shift, ONE)
    mass, sums = filled(nothing[0], ONE), filled(nothing[0], nothing)
    whole = seen - seen % lanes
    for j in range(0, whole, lanes):
        logit = plus(loaded(past(logits, j), ONE), lowered)
        weight = weigh(_scores(query, past(near, j), stride, logit))
        mass, sums = plus(mass, weight), _added(sums, past(far, j), stride, weight)
    if whole < seen:
        logit = plus(loaded(past(logits, whole), ONE), lowered)
        weight = weigh(_scores(query, past(near, whole), stride, logit))
        weight = kept(weight, seen - whole, nothing[0])
        mass, sums = plus(mass, weight), _added(sums, past(far, whole), stride, weight)
    return total(mass), totals(sums)
