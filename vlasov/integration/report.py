"""The account of a run that has ended."""

__all__ = ["report"]

from vlasov.integration.march import Course, time_of
from vlasov.integration.state import Outcome, State
from vlasov.integration.status import describe


def report(state: State, course: Course, halt: str | None) -> Outcome:
    """The outcome of a run; `halt` is what stopped it as a whole, if anything did."""
    problem, progress = course.problem, course.progress
    running = halt or "finished"
    ends = [progress.ended.get(i, (running, time_of(state.t, i))) for i in range(problem.members)]
    # What stopped the whole run comes first, then the first system that did not reach the end.
    chosen = [end for end in ends if end[0] == halt] or [
        end for end in ends if end[0] != "finished"
    ]
    status, at = chosen[0] if chosen else ends[0]
    return Outcome(
        state=state,
        status=status,
        message=_message(
            course, status=status, at=at, early=sum(e[0] != "finished" for e in ends)
        ),
        stopped_at=max((end[1] for end in ends), key=lambda t: t * problem.direction),
        events=progress.events,
        steps=progress.steps,
        rejected=progress.rejected,
        evaluations=progress.evaluations,
        member_status=tuple(end[0] for end in ends),
        member_stopped_at=tuple(end[1] for end in ends),
    )


def _message(course: Course, *, status: str, at: float, early: int) -> str:
    problem = course.problem
    text = describe(status, t=at, until=problem.until, steps=course.progress.steps)
    if status != "finished" and at == problem.start and course.progress.steps == 0:
        text += " It did so at the very start."
    if early and problem.members > 1:
        text += f" {early} of {problem.members} systems stopped before the end."
    return text
