"""Long passes that the observer can end: asked between evaluations of the field."""

__all__ = ["PatientMarch"]

import time

from torch import Tensor

from vlasov.integration.field import Time
from vlasov.integration.march import Course, March, Move
from vlasov.integration.state import Observer, State

_SECONDS = 1.0  # between two questions; shorter passes are never interrupted


class _GivenUp(Exception):
    """The observer wants to stop, and the pass is not worth its end."""


class PatientMarch:
    """A march whose passes end early where the observer says so.

    While a pass takes long, the observer is told the state before it once a second. If it answers
    no, everything is put back to that state.
    """

    def __init__(self, march: March, course: Course, observer: Observer | None) -> None:
        self._march, self._course, self._observer = march, course, observer

    def advance(self, t: Time, x: Tensor, active: Tensor | None) -> Move:
        """One pass, or none: then the move is marked as given up."""
        course, observer = self._course, self._observer
        if observer is None:
            return self._march.advance(t, x, active)
        self._note_noise()
        before = dict(vars(course.progress))
        course.field.ask_between(_Question(observer, State(t, x, active, before)))
        try:
            return self._march.advance(t, x, active)
        except _GivenUp:
            self._restore(before)
            return Move(t, x, t, x, lambda _: x, course.problem.batch_shape, False, given_up=True)
        finally:
            course.field.ask_between(None)

    def _note_noise(self) -> None:
        course = self._course
        if course.problem.noise is not None and course.generator is not None:
            course.progress.generator = course.generator.get_state()

    def _restore(self, before: dict[str, object]) -> None:
        course = self._course
        vars(course.progress).update(before)
        if course.generator is not None and course.progress.generator is not None:
            course.generator.set_state(course.progress.generator)


class _Question:
    """Asks the observer about a state, at most once a second."""

    def __init__(self, observer: Observer, state: State) -> None:
        self._observer, self._state = observer, state
        self._asked = time.monotonic()

    def __call__(self) -> None:
        now = time.monotonic()
        if now - self._asked > _SECONDS:
            self._asked = now
            if not self._observer.step(self._state):
                raise _GivenUp
