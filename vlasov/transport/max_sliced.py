r"""The largest slice: the direction along which two clouds differ most.

.. math:: \max_{|\theta| = 1} W_p(\theta^T \mu, \theta^T \nu) \le W_p(\mu, \nu)

The maximum over directions is not concave. What ascents find is a lower bound of it, and so of
the distance itself.

Source: Deshpande et al., Max-Sliced Wasserstein Distance, CVPR 2019.
"""

__all__ = ["max_sliced"]

import torch
from jaxtyping import Float
from torch import Tensor

from vlasov.cloud import Cloud
from vlasov.transport.checks import Atoms, Pair, checked_pair
from vlasov.transport.record import rescaled
from vlasov.transport.result import Distance
from vlasov.transport.slices import slice_power, unit_directions

_STEPS = 200
_SHORTEST = 2.0**-20


def max_sliced(
    a: Cloud,
    b: Cloud,
    p: float | int = 2,
    *,
    starts: int | Float[Tensor, "k d"] = 20,
    generator: torch.Generator | None = None,
) -> Distance:
    """The largest slice that ascents from several directions find: a lower bound of the largest.

    Starts are given, or drawn, as the directions of `sliced`; the difference of the means is
    always one of them. The gradient is that of the slice along the direction found.

    Raises:
        InvalidValue: for no start, or one of length 0.
        ShapeMismatch: for starts of another width.
    """
    pair = checked_pair(a, b, p).scaled()
    still = Pair(_still(pair.a), _still(pair.b), pair.p)
    shift = still.b.weights @ still.b.points - still.a.weights @ still.a.points
    first = [shift / shift.norm()] if bool(shift.norm() > 0) else []
    ends = [_ascend(still, t) for t in [*first, *unit_directions(starts, a.d, generator)]]
    values = torch.stack([slice_power(still, t) for t in ends])
    power = slice_power(pair, ends[int(values.argmax())])
    method = f"largest slice, ascents from {len(ends)} directions (lower bound)"
    return rescaled(
        power, p=pair.p, scale=pair.scale, method=method, optimal=False,
        facts={"starts": len(ends)},
    )  # fmt: skip


def _still(side: Atoms) -> Atoms:
    return Atoms(side.points.detach(), side.weights.detach(), side.equal)


def _ascend(pair: Pair, theta: Tensor) -> Tensor:
    """A direction whose slice is not exceeded by steps along its gradient.

    For p = 2 a full step is the power iteration of the second moment of the displacements.
    """
    best, step = slice_power(pair, theta), 1.0
    for _ in range(_STEPS):
        uphill = _gradient(pair, theta)
        if step < _SHORTEST or not bool(uphill.norm() > 0):
            break
        trial = (1 - step) * theta + step * uphill / uphill.norm()
        trial = trial / trial.norm()
        value = slice_power(pair, trial)
        if bool(value > best):
            theta, best, step = trial, value, min(1.0, 2 * step)
        else:
            step /= 4
    return theta


def _gradient(pair: Pair, theta: Tensor) -> Tensor:
    with torch.enable_grad():
        free = theta.detach().requires_grad_()
        return torch.autograd.grad(slice_power(pair, free), free)[0]
