# pyright: basic, reportCallIssue=false
# ruff: noqa: ANN001, ANN201, ANN202 - numba reads types off the arguments
"""How the compiled pass reads tokens: queries one behind the other, keys in tiles.

A tile has a row for each coordinate of its keys, one of logits and a row for each of the values.
One pass of its own: as many calls of torch or numpy would take as long as a sum over a thousand
tokens.
"""

__all__ = ["lay_out"]

import math
from typing import no_type_check

from numba import njit

from vlasov.engines.compiling import ENTRY, INNER


@njit(**ENTRY)
@no_type_check
def lay_out(tokens, factors, found):
    """Write tokens where the pass reads them; whether a key is absent.

    `tokens` are q, k, v of shape (members, tokens, width), and key logits. `factors` are what
    exponents are multiplied and values divided by, whether logits are counted from the largest
    one of a member, and the exponent of a key that is absent, whose coordinates and values are 0.
    `found` are queries, tiles, the logits counted from, the largest norm of a key, and the keys
    farthest along each axis.
    """
    (q, k, _, logits), (queries, _, tops, longest, scouts), absent = tokens, found, False
    for member in range(k.shape[0]):
        top = -math.inf
        for j in range(k.shape[1]):
            top = max(top, logits[member, j])
        tops[member] = top if factors[2] and top > -math.inf else 0.0
        for i in range(q.shape[1]):
            for c in range(q.shape[2]):
                queries[member, i, c] = factors[0] * q[member, i, c]
        square = 0.0
        for j in range(k.shape[1]):
            gone = _place_value(tokens, factors, found, member, j)
            absent |= gone
            if not gone:
                square = max(square, _place_key(k, scouts, found[1], member, j))
        longest[member] = math.sqrt(square)
    return absent


@njit(**INNER)
@no_type_check
def _place_key(k, scouts, tiles, member, j):
    """Write a key to its tile, and perhaps to the scouts; its squared norm."""
    d, length, square = k.shape[2], tiles.shape[3], 0.0
    for c in range(d):
        x = k[member, j, c]
        tiles[member, j // length, c, j % length] = x
        square += x * x
        if x > k[member, scouts[member, c], c]:
            scouts[member, c] = j
        if x < k[member, scouts[member, d + c], c]:
            scouts[member, d + c] = j
    return square


@njit(**INNER)
@no_type_check
def _place_value(tokens, factors, found, member, j):
    """Write the logit and values of a key; whether it is absent."""
    (_, _, v, logits), (queries, tiles, tops, _, _) = tokens, found
    width, length, logit = queries.shape[2], tiles.shape[3], logits[member, j]
    tile, lane, gone = j // length, j % length, logit == -math.inf
    tiles[member, tile, width, lane] = factors[3] if gone else factors[0] * (logit - tops[member])
    for c in range(v.shape[2]):
        tiles[member, tile, width + 1 + c, lane] = 0.0 if gone else v[member, j, c] / factors[1]
    return gone
