"""The record of a reduction, put together from the runs of its blocks."""

__all__ = ["joined"]

import math
from collections import Counter
from collections.abc import Sequence

import torch
from torch import Tensor

from vlasov.gaussian import Affine, Gaussian
from vlasov.pde.gaussian_field import GaussianField
from vlasov.reduction.part import PartRecord
from vlasov.reduction.result import Reduction

_SENTENCES = {
    "blow-up": "The covariance grows without bound as t tends to {t:.10g}.",
    "overflow": (
        "The mean left the range of the number format at t = {t:.6g}, beside a covariance that "
        "did not blow up. Shorten the run, or start with mean 0."
    ),
    "exponential": (
        "The trace of the covariance reached the threshold at t = {t:.6g}, growing at a rate that "
        "does not: it diverges without a blow-up. Raise `threshold` to follow it further."
    ),
}


def joined(
    field: GaussianField,
    parts: Sequence[tuple[Tensor, PartRecord]],
    start: Gaussian,
    batch: tuple[int, ...],
) -> Reduction:
    """The record of all systems in the order of the batch; parts come with their flat indices."""
    order = torch.cat([index for index, _ in parts]).argsort()
    records = [record for _, record in parts]
    times = list(max((record.frames for record in records), key=len))
    states = _ordered([_states(record, times) for record in records], order)
    states = states.reshape(len(times), *batch, *states.shape[-2:])
    final = _ordered([record.final.unsqueeze(0) for record in records], order)
    ends = torch.cat([record.blow_up_time for record in records])[order]
    places = order.tolist()
    named = [name for record in records for name in record.status]
    timed = [t for record in records for t in record.stopped_at]
    status, stopped = tuple(named[i] for i in places), tuple(timed[i] for i in places)
    law, outcomes = field.law(states), [record.outcome for record in records if record.outcome]
    return Reduction(
        start=start,
        times=torch.tensor(times, dtype=torch.float64),
        mean=law.mean,
        cov=law.cov,
        flow=_flow(field.flow(states), start),
        final=field.law(final.reshape(*batch, *final.shape[-2:])),
        status=next((name for name in status if name != "finished"), "finished"),
        message=_message(outcomes[0].message, status, float(ends[0]), stopped[0]),
        blow_up_time=ends.reshape(batch) if batch else _finite(float(ends)),
        member_status=status,
        member_stopped_at=stopped,
        steps=sum(outcome.steps for outcome in outcomes),
        rejected=sum(outcome.rejected for outcome in outcomes),
        evaluations=sum(outcome.evaluations for outcome in outcomes),
    )


def _states(record: PartRecord, times: list[float]) -> Tensor:
    """The frames of a block; NaN at times that none of its systems reached."""
    blank = torch.full_like(record.final, torch.nan)
    return torch.stack([record.frames.get(t, blank) for t in times])


def _ordered(pieces: list[Tensor], order: Tensor) -> Tensor:
    return (
        pieces[0] if len(pieces) == 1 else torch.cat(pieces, dim=1)[:, order.to(pieces[0].device)]
    )


def _flow(about_mean: Affine, start: Gaussian) -> Tensor:
    """The map ``[A | b]`` that takes the first mean to the present one."""
    moved = (about_mean.matrix @ start.mean.unsqueeze(-1)).squeeze(-1)
    return torch.cat([about_mean.matrix, (about_mean.offset - moved).unsqueeze(-1)], dim=-1)


def _finite(time: float) -> float | None:
    return time if math.isfinite(time) else None


def _message(otherwise: str, status: tuple[str, ...], blow_up_time: float, end: float) -> str:
    first, *others = status
    if others:
        counts = ", ".join(f"{count} {name}" for name, count in Counter(status).most_common())
        return f"Of {len(status)} systems: {counts}."
    sentence = _SENTENCES.get(first, otherwise)
    return sentence.format(t=blow_up_time if first == "blow-up" else end)
