r"""Costs of all pairs of atoms, in one matrix that is built in place.

.. math:: C_{ij} = d(x_i, y_j)^p

with d the length of the difference on R^d, or the arc on the unit sphere. Differences are taken
before they are squared, so clouds far from the origin lose no digits.
"""

__all__ = ["BYTES_PER_PAIR", "cost_matrix", "pair_costs", "require_room"]

import math
from typing import Literal

import numpy as np
import numpy.typing as npt
import torch
from jaxtyping import Float
from torch import Tensor

from vlasov.errors import TooLittleMemory
from vlasov.pde.memory import available_memory
from vlasov.transport.checks import Pair

BYTES_PER_PAIR = 41  # of the network simplex, its costs and its plan; measured
_BLOCK = 2**20

Matrix = npt.NDArray[np.float64]
Metric = Literal["euclidean", "sqeuclidean"]


def require_room(n: int, m: int) -> None:
    """Refuse a problem whose matrices would not fit.

    Raises:
        TooLittleMemory: with the need, what is free, and the largest equal clouds that fit.
    """
    free = available_memory(torch.device("cpu"))
    need = BYTES_PER_PAIR * n * m
    if free is not None and need > free:
        fits = math.isqrt(free // BYTES_PER_PAIR)
        raise TooLittleMemory(
            f"The exact distance of {n} and {m} tokens needs {need / 1e9:.3g} GB but "
            f"{free / 1e9:.3g} GB are free. Use at most {fits} tokens on each side, or `sliced`."
        )


def cost_matrix(pair: Pair, *, sphere: bool) -> Matrix:
    """The costs ``(n, m)``, row-major."""
    x, y = (side.points.detach().numpy() for side in (pair.a, pair.b))
    squares = not sphere and pair.p != 1
    cost = _between(x, y, "sqeuclidean" if squares else "euclidean")
    if sphere:
        _chords_to_arcs(cost, x, y)
    exponent = pair.p / 2 if squares else pair.p
    with np.errstate(over="ignore"):  # infinite costs are refused by the solver
        return cost if exponent == 1 else np.power(cost, exponent, out=cost)


def _between(x: Matrix, y: Matrix, metric: Metric) -> Matrix:
    from scipy.spatial.distance import cdist  # heavy: only where a matrix is asked for

    return np.asarray(cdist(x, y, metric), dtype=np.float64)


def _chords_to_arcs(cost: Matrix, x: Matrix, y: Matrix) -> None:
    """Arcs of the unit sphere by an arc tangent, as `vlasov.geometry.Sphere.distance`."""
    rows = max(1, _BLOCK // len(y))
    for start in range(0, len(x), rows):
        block = cost[start : start + rows]
        np.arctan2(block, _between(x[start : start + rows], -y, "euclidean"), out=block)
        block *= 2


def pair_costs(
    x: Float[Tensor, "k d"], y: Float[Tensor, "k d"], p: float, *, sphere: bool
) -> Float[Tensor, " k"]:
    """The costs of matched points, with finite gradients also where they coincide."""
    chord = torch.linalg.vector_norm(x - y, dim=-1)
    if sphere:
        chord = 2 * torch.atan2(chord, torch.linalg.vector_norm(x + y, dim=-1))
    elif p == 2:
        return (x - y).square().sum(-1)
    return chord if p == 1 else chord.pow(p)
