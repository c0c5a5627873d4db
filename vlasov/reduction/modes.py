r"""One eigenvalue of a covariance that decouples, in closed or implicit form.

.. math:: \lambda(0) = 1, \qquad
   \dot\lambda = 2vD\lambda^2 \text{ (softmax)}, \quad
   \dot\lambda = \frac{4vD\lambda^2}{1 + 2\nu\lambda} \text{ (L2)}, \quad
   \dot\lambda = \frac{2v}{\varepsilon} \lambda\, m(D\lambda/\varepsilon) \text{ (Sinkhorn)}

with v, D and nu the eigenvalues of V, of :math:`\Sigma_0^{1/2} A \Sigma_0^{1/2}` and of
:math:`\Sigma_0^{1/2} N \Sigma_0^{1/2}`. Every function takes tensors that broadcast.

Source: spec 2.2, 2.4, 2.5, 2.6; the implicit equations are solved to rounding.
"""

__all__ = ["l2_log_mode", "l2_mean_time", "sinkhorn_log_mode", "softmax_mean_time"]

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor

from vlasov.errors import NotConverged

Mode = Float[Tensor, "..."]

_STEPS = 200
_ROUNDING = 8.0


def softmax_mean_time(v: Mode, d: Mode, t: Mode) -> Mode:
    r"""The integral :math:`\int_0^t v\lambda = -\log(1 - 2vDt)/(2D)` that moves the mean."""
    return v * t / _mean_decay(-torch.log1p(-2 * v * d * t))


def l2_log_mode(v: Mode, d: Mode, nu: Mode, t: Mode) -> Mode:
    r"""The logarithm of lambda under L2: :math:`1 - 1/\lambda + 2\nu\log\lambda = 4vDt`.

    For nu >= 0, with D = 0 wherever nu = 0, as the maps of one head have it; then for all times.
    """
    target, nu = torch.broadcast_tensors(4 * v * d * t, nu)
    shifted = torch.where(nu > 0, (target - 1) / torch.where(nu > 0, 2 * nu, 1.0), -torch.inf)
    above = torch.maximum(target / (1 + 2 * nu), shifted)
    below = -torch.log1p(-target.clamp(max=0.0))
    start = torch.where(target > 0, above, below)
    return _concave_root(
        lambda x: -torch.expm1(-x) + 2 * nu * x,
        lambda x: torch.exp(-x) + 2 * nu,
        start,
        target,
    )


def l2_mean_time(v: Mode, nu: Mode, t: Mode, log_mode: Mode) -> Mode:
    r"""The integral :math:`\int_0^t 2v\lambda/(1 + 2\nu\lambda) = \log\lambda/(2D)`."""
    return 2 * v * t / (_mean_decay(log_mode) + 2 * nu)


def sinkhorn_log_mode(v: Mode, d: Mode, t: Mode, eps: float) -> Mode:
    r"""The logarithm of lambda under Sinkhorn attention.

    With :math:`\theta = \mathrm{asinh}(2|D|\lambda/\varepsilon)` the quantity
    :math:`\theta - \coth(\theta/2)` grows by :math:`2vt\,\mathrm{sign}(D)/\varepsilon`.
    """
    v, d, t = torch.broadcast_tensors(v, d, t)
    size = 2 * d.abs() / eps
    # below, the score is nothing beside rounding and theta would leave the range of numbers
    moves = size > torch.finfo(d.dtype).tiny ** 0.5
    first = torch.asinh(torch.where(moves, size, 1.0))
    target = first - 1 / torch.tanh(first / 2) + 2 * v * torch.sign(d) * t / eps
    # theta - 2/theta bounds the function from above, so its root lies to the left
    root = torch.sqrt(target.square() + 8)
    start = torch.where(target > 0, (target + root) / 2, 4 / (root - target))
    theta = _concave_root(
        lambda x: x - 1 / torch.tanh(x / 2),
        lambda x: 1 + 0.5 / torch.sinh(x / 2).square(),
        start,
        target,
    )
    return torch.where(moves, _log_sinh(theta) - _log_sinh(first), 0.0)


def _mean_decay(x: Tensor) -> Tensor:
    """The average ``(1 - e^{-x})/x`` of ``e^{-s}`` over s in [0, x]; 1 at 0."""
    return torch.where(x == 0, 1.0, -torch.expm1(-x) / torch.where(x == 0, 1.0, x))


def _log_sinh(x: Tensor) -> Tensor:
    return x + torch.log(-torch.expm1(-2 * x) / 2)


def _concave_root(
    function: Callable[[Tensor], Tensor],
    slope: Callable[[Tensor], Tensor],
    start: Tensor,
    target: Tensor,
) -> Tensor:
    """Where an increasing concave function meets its target, by Newton steps from the left.

    From the left no step goes too far, so each one gains and none needs a safeguard.
    """
    x, step, limit = start, start, _ROUNDING * torch.finfo(start.dtype).eps
    for _ in range(_STEPS):
        rate = slope(x)
        step = (target - function(x)) / rate
        x = x + step
        if bool((step.abs() <= limit * (x.abs() + target.abs() / rate)).all()):
            return x
    raise NotConverged(
        f"An implicit mode was to be solved to {limit:.1e} but after {_STEPS} Newton steps the "
        f"largest was {float(step.abs().max()):.1e}; check that times and maps are finite."
    )
