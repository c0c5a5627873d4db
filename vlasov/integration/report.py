"""The account of a run that has ended."""

__all__ = ["report"]

from torch import Tensor

from vlasov.integration.march import Course
from vlasov.integration.state import Outcome, State
from vlasov.integration.status import describe


def report(state: State, course: Course, halt: str | None) -> Outcome:
    """The outcome of a run; `halt` is what stopped it as a whole, if anything did."""
    problem, progress = course.problem, course.progress
    ended, members = progress.ended, problem.members
    times: list[float] = (
        state.t.reshape(-1).tolist() if isinstance(state.t, Tensor) else [state.t] * members
    )
    names = [halt or "finished"] * members
    for i, (name, at) in ended.items():
        names[i], times[i] = name, at
    # What stopped the whole run comes first, then the first system that did not reach the end.
    first = names.index(halt) if halt in names else min(ended, default=0)
    early = members if halt is not None else len(ended)
    return Outcome(
        state=state,
        status=names[first],
        message=_message(course, status=names[first], at=times[first], early=early),
        stopped_at=max(times) if problem.direction > 0 else min(times),
        events=progress.events,
        steps=progress.steps,
        rejected=progress.rejected,
        evaluations=progress.evaluations,
        member_status=tuple(names),
        member_stopped_at=tuple(times),
    )


def _message(course: Course, *, status: str, at: float, early: int) -> str:
    problem = course.problem
    text = describe(status, t=at, until=problem.until, steps=course.progress.steps)
    if status != "finished" and at == problem.start and course.progress.steps == 0:
        text += " It did so at the very start."
    if early and problem.members > 1:
        text += f" {early} of {problem.members} systems stopped before the end."
    return text
