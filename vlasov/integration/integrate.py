"""The loop that crosses time; the only one."""

__all__ = ["integrate"]

import time

import torch
from torch import Tensor

from vlasov.integration.field import Time, WatchedField
from vlasov.integration.march import Course, Move, all_at, latest, time_of
from vlasov.integration.marches import march
from vlasov.integration.patience import PatientMarch
from vlasov.integration.problem import Problem
from vlasov.integration.progress import Progress
from vlasov.integration.report import report
from vlasov.integration.segments import natural_cadence, segments
from vlasov.integration.sentinel import Sentinel, Sighting
from vlasov.integration.state import Observer, Outcome, State
from vlasov.integration.stepping import Plan
from vlasov.integration.verdict import verdict


def integrate(
    problem: Problem,
    plan: Plan,
    *,
    observer: Observer | None = None,
    resume: State | None = None,
    generator: torch.Generator | None = None,
) -> Outcome:
    """Run a problem to its end time, or to whatever stops it first.

    The observer's `save` gets the start, each save time, and the state at the end of the run (of
    an event: the located one; of a failure: the last finite one) unless it was just saved; an
    interrupted run saves no end. A run resumed from a `State` goes on bit for bit, whatever call
    of the observer the state came from.

    Raises:
        InvalidValue: for settings that cannot be met.
        Unsupported: for a combination of method, step, noise and batch that has no meaning.
    """
    run = _Run(problem, plan, observer, resume=resume, generator=generator)
    if resume is None:
        run.open()
    while run.running:
        run.advance()
    return run.close()


class _Run:
    """A run under way: the state, and the bookkeeping around it."""

    def __init__(
        self,
        problem: Problem,
        plan: Plan,
        observer: Observer | None,
        *,
        resume: State | None,
        generator: torch.Generator | None,
    ) -> None:
        progress = Progress() if resume is None else Progress(**resume.memory)
        if generator is not None and progress.generator is not None:
            generator.set_state(progress.generator)
        field, pieces = WatchedField(problem.field, progress), segments(problem, plan)
        self._course = Course(problem, plan, field, progress, pieces, generator)
        self._march = PatientMarch(march(self._course), self._course, observer)
        self._sentinel = Sentinel(self._course)
        self._observer = observer
        self._cadence = natural_cadence(pieces, plan)
        self._halt: str | None = None
        self._clock = time.monotonic()
        self._t: Time = problem.start if resume is None else resume.t
        self._x = problem.initial if resume is None else resume.x
        self._active: Tensor | None = None
        self._mark_active()
        if resume is not None:
            self._sentinel.arm(self._t, self._x)

    @property
    def running(self) -> bool:
        """Whether anything is left to do."""
        progress = self._course.progress
        return (
            self._halt is None
            and progress.segment < len(self._course.segments)
            and len(progress.ended) < self._course.problem.members
        )

    def open(self) -> None:
        """The first state, and the terminal events that hold in it."""
        for sighting in self._sentinel.arm(self._t, self._x):
            self._record(sighting, self._course.problem.start)
        self._mark_active()
        self._save()

    def advance(self) -> None:
        """One pass of the march, and what follows from it."""
        self._course.field.hold_left_of(self._course.segment.ceiling)
        move = self._march.advance(self._t, self._x, self._active)
        for member, name in move.failed.items():
            status = verdict(self._course, member, name, t=self._t, x=self._x)
            self._record(Sighting(status, member, 0.0, failure=True), time_of(self._t, member))
        self._halt = "interrupted" if move.given_up else None
        if move.moved:
            self._take(move)
        if move.failed:
            self._mark_active()
            self._arrive()
        self._check_limits()

    def close(self) -> Outcome:
        """Save the end, unless it is only an interruption, and report."""
        if self._halt != "interrupted":
            self._save()
        return report(self._state(), self._course, self._halt)

    def _take(self, move: Move) -> None:
        """Move on, stop what is to be stopped, save what is due, and tell the observer."""
        progress = self._course.progress
        self._t, self._x = move.t, move.x
        sightings = self._sentinel.look(move, self._active)
        if sightings:
            self._stop(move, sightings)
            self._mark_active()
        progress.steps += 1
        self._arrive()
        if self._cadence is not None and progress.steps % self._cadence == 0:
            self._save()
        if self._observer is not None and not self._observer.step(self._state()):
            self._halt = "interrupted"

    def _stop(self, move: Move, sightings: list[Sighting]) -> None:
        """Record what was seen; systems that stop are put where they stopped."""
        stopped: dict[int, Sighting] = {}
        for seen in sightings:
            if seen.member not in stopped:
                self._record(seen, move.member_time(seen.member, seen.fraction))
                if seen.terminal:
                    stopped[seen.member] = seen
        kept = {i: 0.0 if seen.failure else seen.fraction for i, seen in stopped.items()}
        if kept:
            self._t, self._x = move.cut(kept)
            self._course.progress.slope = None  # it was that at the end of the whole step
        if self._finished_early and not isinstance(move.t, Tensor):
            ends = [move.member_time(i, fraction) for i, fraction in kept.items()]
            self._t = max(ends, key=lambda end: end * self._course.problem.direction)

    def _record(self, seen: Sighting, when: float) -> None:
        progress = self._course.progress
        if not seen.failure:
            progress.events = (*progress.events, (seen.name, when, seen.member))
        if seen.terminal:
            progress.ended = {**progress.ended, seen.member: (seen.name, when)}

    def _mark_active(self) -> None:
        """Rebuild the mask of running systems."""
        problem, ended = self._course.problem, self._course.progress.ended
        if ended and problem.batch_shape:
            self._active = problem.mask_without(ended)

    def _arrive(self) -> None:
        """Enter the next segment once every running system is there; save if asked for."""
        progress, piece = self._course.progress, self._course.segment
        if self._finished_early or not all_at(self._t, piece.end, self._active):
            return
        progress.segment, progress.within = progress.segment + 1, 0
        if piece.jumps:
            progress.slope = progress.anchor = None
        if piece.saves:
            self._save()

    @property
    def _finished_early(self) -> bool:
        return len(self._course.progress.ended) == self._course.problem.members

    def _save(self) -> None:
        """Save this state, unless it was the last to be saved."""
        progress, now = self._course.progress, latest(self._t, self._course.problem.direction)
        if progress.saved_at == now:
            return
        progress.saved_at = now
        if self._observer is not None:
            self._observer.save(self._state())

    def _state(self) -> State:
        course = self._course
        if course.problem.noise is not None and course.generator is not None:
            course.progress.generator = course.generator.get_state()
        return State(self._t, self._x, self._active, dict(vars(course.progress)))

    def _check_limits(self) -> None:
        limits, progress = self._course.plan.limits, self._course.progress
        if not self.running:
            return
        if limits.max_steps is not None and progress.steps + progress.rejected >= limits.max_steps:
            self._halt = "max-steps"
        elif limits.wall_time is not None and time.monotonic() - self._clock > limits.wall_time:
            self._halt = "wall-time"
