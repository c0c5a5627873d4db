r"""Lengths and short paths in the twisted metric of softmax attention.

.. math:: d_{A,V}(\mu_0, \mu_1)^2 = \inf \int_0^1\!\! \int Z_{\mu_t}(x)
          \langle v_t, B^{-1} v_t\rangle d\mu_t\, dt, \qquad
          \partial_t \mu + \mathrm{div}(\mu v) = 0

Between frames tokens move on straight lines, along which two Gauss nodes are summed. For one token
on the line and A = -1 the distance is the closed form
:math:`\sqrt{\pi/2}\,|\mathrm{erf}(x/\sqrt2) - \mathrm{erf}(y/\sqrt2)|`.

Source: spec sections 3 and 3.2.
"""

__all__ = ["TwistedPath", "path_length", "twisted_geodesic"]

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from jaxtyping import Float
from torch import Tensor

from vlasov._shapes import LogWeights, Points
from vlasov.cloud import Cloud
from vlasov.errors import InvalidValue, NotConverged, NotFinite, ShapeMismatch
from vlasov.transport.checks import Pair, checked_pair
from vlasov.transport.cost import cost_matrix, require_room
from vlasov.transport.exact import optimal_plan
from vlasov.transport.result import Distance
from vlasov.transport.twisted_metric import TwistedMetric

_NODES = ((1 - 1 / math.sqrt(3)) / 2, (1 + 1 / math.sqrt(3)) / 2)
_SLOPE = 1e-6  # of the action where it counts as stationary, relative to that of the straight path

Vector = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class TwistedPath:
    """A path of frames ``(f, n, d)``, equally spaced in time, with its length.

    Tokens are the pairs of an optimal plan, so a token of the ends may be several of the path.
    """

    distance: Distance
    points: Float[Tensor, "f n d"]
    log_weights: Float[Tensor, " n"]

    def cloud(self, frame: int) -> Cloud:
        """The cloud of one frame."""
        return Cloud.from_log_weights(self.points[frame], self.log_weights)


def path_length(
    points: Float[Tensor, "f n d"],
    metric: TwistedMetric,
    *,
    log_weights: Float[Tensor, " n"] | None = None,
    times: Float[Tensor, " f"] | None = None,
    velocities: Float[Tensor, "f n d"] | None = None,
) -> Distance:
    """The length of a path of clouds, as the frames of a run: an upper bound of the distance.

    Without velocities it is the length of the polygon of the frames; with them, and their times,
    the trapezoidal sum of speeds. The default weights are equal.

    Raises:
        ShapeMismatch: for fewer than two frames, or shapes that do not match.
        InvalidValue: for velocities without times.
        NotFinite: for points that are not finite, or so large that Z overflows.
    """
    f, n, _ = points.shape
    log_w = points.new_full((n,), -math.log(n)) if log_weights is None else log_weights
    if f < 2:
        raise ShapeMismatch(f"A path needs two frames at least but has {f}. Record more frames.")
    if velocities is None:
        length = _squared_speeds(points, metric, log_w).sqrt().mean()
        method = f"polygon of {f} frames"
    else:
        if times is None:
            raise InvalidValue(
                "Velocities need the times of their frames; pass `times=run.times`."
            )
        speeds = metric.squared_speed(points, velocities, log_w).sqrt()
        length = torch.trapezoid(speeds, times.to(speeds))
        method = f"speeds at {f} frames"
    return _measured(length, method, {"frames": f, "tokens": n})


def twisted_geodesic(
    a: Cloud, b: Cloud, metric: TwistedMetric, *, frames: int = 17, max_steps: int = 500
) -> TwistedPath:
    """A locally shortest path between two clouds; its length estimates d_{A,V} from above.

    Tokens are paired by the plan that is optimal for W_2 and keep their partner; the path starts
    straight, and its action falls until it is stationary. Shorter paths with other pairs, or on
    another side of an obstacle, are not excluded. For small clouds: each step costs frames n^2.

    Raises:
        InvalidValue: for fewer than 3 frames.
        ShapeMismatch: for a batch of clouds, or clouds of different widths.
        NotFinite: for points that are not finite, or so large that Z overflows.
        NotConverged: if the action still falls after `max_steps`.
    """
    if frames < 3:
        raise InvalidValue(f"A geodesic needs 3 frames at least but got {frames}; 17 are usual.")
    start, end, log_w = _paired(checked_pair(a, b, 2))
    points, action, steps = _shortened(start, end, log_w, metric, frames, max_steps)
    facts = {"frames": frames, "pairs": len(start), "steps": steps, "action": action}
    polygon = path_length(points, metric, log_weights=log_w)
    distance = _measured(polygon.value, "locally shortest path, pairs of W_2 kept", facts)
    return TwistedPath(distance, points, log_w)


def _squared_speeds(points: Tensor, metric: TwistedMetric, log_w: Tensor) -> Float[Tensor, "2 s"]:
    """At the nodes of each segment, for a path that takes the time 1."""
    moves = points.diff(dim=0)
    at = torch.stack([points[:-1] + node * moves for node in _NODES])
    return metric.squared_speed(at, (moves * len(moves)).expand(at.shape), log_w)


def _measured(length: Tensor, method: str, facts: Mapping[str, float | int]) -> Distance:
    if not bool(length.isfinite()):
        raise NotFinite(
            f"The length of a path must be finite but is {float(length)}: points are not finite, "
            "or Z overflows. Cut the path, or rescale the points."
        )
    return Distance(length, length.square(), 2.0, method, optimal=False, facts=facts)


def _paired(pair: Pair) -> tuple[Points, Points, LogWeights]:
    """The two ends token by token, with the masses of an optimal plan."""
    require_room(pair.a.n, pair.b.n)
    weights = [side.weights.detach().numpy() for side in (pair.a, pair.b)]
    support = optimal_plan(cost_matrix(pair, sphere=False), *weights).support
    rows, columns = (torch.from_numpy(i) for i in (support.rows, support.columns))
    log_w = torch.from_numpy(support.mass).log().log_softmax(-1)
    return pair.a.points.detach()[rows], pair.b.points.detach()[columns], log_w


def _shortened(
    start: Points,
    end: Points,
    log_w: LogWeights,
    metric: TwistedMetric,
    frames: int,
    max_steps: int,
) -> tuple[Float[Tensor, "f n d"], float, int]:
    """The path of least action, its action, and the steps taken."""
    from scipy.optimize import minimize  # heavy: only where a path is sought

    share = torch.linspace(0, 1, frames, dtype=start.dtype)[:, None, None]
    straight = torch.lerp(start, end, share)
    modes = torch.arange(1, frames - 1, dtype=start.dtype)
    # waves scaled by 1/mode: the Hessian of a straight path in them is a multiple of the identity
    waves = (math.pi * share[..., 0] * modes).sin() / modes

    def path(bends: Vector) -> Tensor:
        return straight + torch.tensordot(waves, torch.from_numpy(bends).view(-1, *start.shape), 1)

    def action(bends: Vector) -> tuple[float, Vector]:
        frame = path(bends).requires_grad_()
        value = _squared_speeds(frame, metric, log_w).mean()
        (slope,) = torch.autograd.grad(value, frame)
        return float(value.detach()), torch.tensordot(waves.mT, slope, 1).flatten().numpy()

    size, straight_bends = float((end - start).abs().max()), np.zeros(straight[1:-1].numel())
    wanted = _SLOPE * action(straight_bends)[0]
    found = minimize(
        action, straight_bends, jac=True, method="L-BFGS-B",
        options={"maxiter": max_steps, "maxcor": 20, "ftol": 0.0, "gtol": wanted / max(size, 1.0)},
    )  # fmt: skip
    slope = float(np.abs(found.jac).max()) * size
    if not slope <= wanted:
        raise NotConverged(
            f"A shortest path wanted an action whose slope is below {wanted:.3g} but it is "
            f"{slope:.3g} after {found.nit} steps. Raise max_steps, or bring the clouds closer."
        )
    return path(found.x), float(found.fun), int(found.nit)
