"""How each of many systems ends: reductions in a batch, or small clouds."""

__all__ = ["KINDS", "Follow", "ends_of", "followed"]

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from vlasov.cloud import Cloud
from vlasov.experiments.phase_systems import Systems
from vlasov.pde import TransformerPDE, velocity
from vlasov.reduction import Reduction, reduce
from vlasov.reduction.classify import Rule
from vlasov.reduction.outcome import Outcome, outcome, outcome_of
from vlasov.solve import simulate

Ends = Mapping[str, Tensor]

KINDS = ("converged", "blow-up", "exponential divergence", "diverged", "still moving")
"""Kinds of an `Outcome`, by the number under which an end keeps them."""

_OPEN = 3  # kinds from here on may change later
_STAGES = (0.01, 0.1, 1.0)
_BATCHED = 300  # steps of a batch: what needs more is stiff, and goes on alone
_FRAMES = 51


@dataclass(frozen=True)
class Follow:
    """How far systems are followed, and how closely.

    Attributes:
        until: the end time.
        rtol: relative tolerance of adaptive steps.
        max_steps: steps of a system that is followed alone, or of a batch of clouds.
        positions: as for `vlasov.reduce`.
        rule: the thresholds of an outcome.
    """

    until: float
    rtol: float
    max_steps: int
    positions: str | None
    rule: Rule


def ends_of(pde: TransformerPDE, systems: Systems, follow: Follow) -> Ends:
    """The ends of systems by reduction: kind, rank, blow_up_time, trace, speed, time.

    All systems go up to a hundredth, a tenth, and all of the time, from the start each time;
    those that have converged, blown up or diverged are not followed further. What is left behind
    by the steps of the batch is stiff, and goes on alone under an implicit method.
    """
    found: dict[str, Tensor] = {}
    rest = torch.arange(len(systems))
    for share in _STAGES:
        ends = _reduced(pde, systems.part(rest), follow, until=share * follow.until)
        _put(found, rest, ends, len(systems))
        rest = rest[ends["kind"] >= _OPEN]
        if not len(rest):
            return found
    for i in rest[found["time"][rest] < follow.until].tolist():
        one = torch.tensor([i])
        _put(found, one, _reduced(pde, systems.part(one), follow, stiff=True), len(systems))
    return found


def followed(
    pde: TransformerPDE, systems: Systems, points: Float[Tensor, "n d"], follow: Follow
) -> Ends:
    """The ends of clouds: `points` of mean 0 and covariance I, moved to the law of each system."""
    law, equation = systems.law(), systems.equation(pde)
    cloud = Cloud(law.mean.unsqueeze(-2) + points.to(law.mean) @ law.factor.mT)
    inner = [follow.until * k / (_FRAMES - 1) for k in range(_FRAMES - 1)]
    run = simulate(
        equation, cloud, until=follow.until, step="adaptive", rtol=follow.rtol,
        max_steps=follow.max_steps, save_at=(*inner, follow.until),
    )  # fmt: skip
    stopped = torch.tensor(run.member_stopped_at)
    last = _last_finite(run.points)
    centred = run.points - run.points.mean(-2, keepdim=True)
    moved = velocity(equation, Cloud(last))
    half = (last - last.mean(-2, keepdim=True)).mT @ moved / last.shape[-2]
    end = outcome(
        run.times.to(last),
        centred.mT @ centred / last.shape[-2],
        speed=torch.linalg.matrix_norm(half + half.mT),
        statuses=run.member_status,
        rule=follow.rule,
    )
    blown = torch.tensor([status == "blow-up" for status in run.member_status])
    return _numbers(end, torch.where(blown, stopped.double(), torch.inf), stopped)


def _reduced(
    pde: TransformerPDE,
    systems: Systems,
    follow: Follow,
    *,
    until: float | None = None,
    stiff: bool = False,
) -> Ends:
    equation = systems.equation(pde)
    run: Reduction = reduce(
        equation,
        systems.law(),
        until=follow.until if until is None else until,
        integrator="stiff" if stiff else None,
        rtol=follow.rtol,
        atol=1e-3 * follow.rtol,
        max_steps=follow.max_steps if stiff else min(_BATCHED, follow.max_steps),
        positions=follow.positions,
    )
    end = outcome_of(equation, run, positions=follow.positions, rule=follow.rule)
    times = torch.as_tensor(run.blow_up_time, dtype=torch.float64)
    return _numbers(end, times, torch.tensor(run.member_stopped_at))


def _numbers(end: Outcome, blow_up_time: Tensor, stopped: Tensor) -> dict[str, Tensor]:
    return {
        "kind": torch.tensor([KINDS.index(kind) for kind in end.kinds]),
        "rank": end.rank.cpu(),
        "blow_up_time": blow_up_time.cpu(),
        "trace": end.cov.diagonal(dim1=-2, dim2=-1).sum(-1).double().cpu(),
        "speed": end.figures.speed.double().cpu(),
        "time": stopped.double(),
    }


def _put(found: dict[str, Tensor], where: Tensor, ends: Ends, count: int) -> None:
    for name, values in ends.items():
        whole = found.setdefault(name, torch.zeros(count, dtype=values.dtype))
        whole[where] = values


def _last_finite(points: Tensor) -> Tensor:
    """The last frame of each cloud that is finite."""
    finite = points.isfinite().all(-1).all(-1)
    frame = torch.arange(len(points)).to(points.device)[:, None]
    index = torch.where(finite, frame, -1).amax(0)
    return points.gather(0, index[None, :, None, None].expand(1, *points.shape[1:]))[0]
