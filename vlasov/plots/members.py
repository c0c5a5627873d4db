"""Which frames of a run may be drawn: those of one cloud, up to its own end."""

__all__ = ["first_member"]

import dataclasses

from torch import Tensor

from vlasov.run import EventRecord, Run


def first_member(run: Run) -> Run:
    """The run of a batch's first cloud, cut where it stopped; a single run as it is."""
    batch = len(run.points.shape) - 3
    if batch == 0:
        return run
    first = (0,) * batch
    stop = run.member_stopped_at[0] if run.member_stopped_at else run.stopped_at
    alive, drawn = _until(run.times, stop), _until(run.point_times, stop)
    values = {name: value[(alive, *first)] for name, value in run.observables.items()}
    return dataclasses.replace(
        run,
        times=run.times[alive],
        points=run.points[(drawn, *first)],
        point_times=run.point_times[drawn],
        log_weights=run.log_weights[first],
        positions=None if run.positions is None else run.positions[first],
        status=run.member_status[0] if run.member_status else run.status,
        stopped_at=stop,
        observables=values,
        events=tuple(event for event in run.events if _concerns(event, first)),
        error=None,
    )


def _until(times: Tensor, stop: float) -> slice:
    """The frames not past the stop, up to the rounding of a time; a run may go backwards."""
    sign = -1.0 if len(times) > 1 and times[-1] < times[0] else 1.0
    return slice(int((sign * (times - stop) <= 1e-9 * (1 + abs(stop))).sum()))


def _concerns(event: EventRecord, member: tuple[int, ...]) -> bool:
    return event.member in ((), member)
