"""Signals that ask a run to stop: noted, so that it can save and end in an orderly way."""

__all__ = ["Interruption", "Stop", "catch_signals"]

import contextlib
import signal
import threading
from collections.abc import Callable, Generator
from dataclasses import dataclass
from types import FrameType

_CAUGHT = (signal.SIGINT, signal.SIGTERM)

Stop = Callable[[], bool]
"""Whether someone asked to stop."""


def _nothing() -> None: ...


@dataclass
class Interruption:
    """Whether someone asked to stop, and by which signal."""

    signal: int | None = None

    @property
    def requested(self) -> bool:
        """Whether a signal came."""
        return self.signal is not None

    @property
    def exit_status(self) -> int:
        """What a shell expects of a program ended by a signal: SIGINT 130, SIGTERM 143."""
        return 0 if self.signal is None else 128 + self.signal


@contextlib.contextmanager
def catch_signals(
    tell: Callable[[], object] = _nothing,
) -> Generator[Interruption, None, None]:
    """Note SIGINT and SIGTERM instead of dying, and `tell`; a handler of the user's is called too.

    A second SIGINT is no longer caught. The handlers found are put back at the end. Outside the
    main thread, where Python handles no signals, nothing is caught.
    """
    caught = Interruption()
    if threading.current_thread() is not threading.main_thread():
        yield caught
        return
    found = {number: signal.getsignal(number) for number in _CAUGHT}

    def note(number: int, frame: FrameType | None) -> None:
        caught.signal = number
        tell()
        own = found[signal.Signals(number)]
        if number == signal.SIGINT:
            signal.signal(number, own)
        if callable(own) and own is not signal.default_int_handler:
            own(number, frame)

    # an ignored signal (nohup, a background job) stays ignored
    for number in (n for n in _CAUGHT if found[n] not in (signal.SIG_IGN, None)):
        signal.signal(number, note)
    try:
        yield caught
    finally:
        for number, handler in found.items():
            if handler is not None:
                signal.signal(number, handler)
