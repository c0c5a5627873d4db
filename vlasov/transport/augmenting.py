# pyright: basic
# ruff: noqa: ANN001, ANN201, ANN202, PLR0913 - numba reads types off the arguments
r"""The transport problem by shortest augmenting paths: slower than the network simplex, and safe.

Mass leaves the rows one after the other, each time along a path of least reduced cost
:math:`C_{ij} - u_i - v_j \ge 0` to a column with room. Every potential is a difference of path
lengths that were really used, so one huge cost does not drown the small ones: costs of
1e20 beside 1 lose no digit. With equal weights it is the assignment algorithm of Jonker and
Volgenant.

Source: Jonker and Volgenant, Computing 38 (1987); Ahuja, Magnanti and Orlin, Network Flows (1993),
section 9.7.
"""

__all__ = ["augment"]

from typing import no_type_check

import numpy as np
from numba import njit

_SLIVER = 1e-14  # of an atom's weight: what rounding leaves of it


@njit(cache=True)
@no_type_check
def augment(cost, a, b):
    """A plan ``(n, m)``, the potentials of rows and columns, and the mass that found no room."""
    n, m = cost.shape
    plan = np.zeros((n, m))
    u, v = np.zeros(n), np.zeros(m)
    left, room = a.copy(), b.copy()
    stuck = 0.0
    for row in range(n):
        while left[row] > _SLIVER * a[row]:
            end, origin, back = _search(cost, plan, u, v, row, room, b)
            if end < 0:
                stuck += left[row]
                break
            _push(plan, left, room, row, end, origin, back)
    return plan, u, v, stuck


@njit(cache=True)
@no_type_check
def _search(cost, plan, u, v, start, room, b):
    """The nearest column with room, and the tree that reached it; updates the potentials."""
    n, m = cost.shape
    near, origin, done = np.full(m, np.inf), np.full(m, -1), np.zeros(m, np.bool_)
    depth, back = np.full(n, np.inf), np.full(n, -1)
    depth[start] = 0.0
    _scan(cost, u, v, start, 0.0, near, origin, done)
    end = _nearest(near, done)
    while end >= 0 and room[end] <= _SLIVER * b[end]:
        done[end] = True
        for i in range(n):
            if plan[i, end] > 0 and depth[i] == np.inf:
                depth[i], back[i] = near[end], end
                _scan(cost, u, v, i, depth[i], near, origin, done)
        end = _nearest(near, done)
    if end >= 0:
        _shift(u, depth, near[end], 1.0)
        _shift(v, np.where(done, near, np.inf), near[end], -1.0)
    return end, origin, back


@njit(cache=True)
@no_type_check
def _shift(potential, distance, length, sign):
    """Make the arcs of the tree tight: what lies nearer than the end of the path moves."""
    for k in range(len(potential)):
        if distance[k] < np.inf:
            potential[k] += sign * (length - distance[k])


@njit(cache=True)
@no_type_check
def _scan(cost, u, v, i, depth, near, origin, done):
    """Relax the columns beside one row."""
    for j in range(cost.shape[1]):
        if not done[j]:
            length = depth + max(cost[i, j] - u[i] - v[j], 0.0)
            if length < near[j]:
                near[j], origin[j] = length, i


@njit(cache=True)
@no_type_check
def _nearest(near, done):
    """The column of least distance that is not done, or -1."""
    best = -1
    for j in range(len(near)):
        if not done[j] and near[j] < np.inf and (best < 0 or near[j] < near[best]):
            best = j
    return best


@njit(cache=True)
@no_type_check
def _push(plan, left, room, start, end, origin, back):
    """Send along the path what its narrowest place lets through."""
    amount, j = min(left[start], room[end]), end
    while origin[j] != start:
        i = origin[j]
        amount, j = min(amount, plan[i, back[i]]), back[i]
    left[start] -= amount
    room[end] -= amount
    j = end
    while True:
        i = origin[j]
        plan[i, j] += amount
        if i == start:
            return
        j = back[i]
        plan[i, j] -= amount
