"""Runs that do not know of each other, each in a process of its own, some at the same time."""

__all__ = ["Failures", "in_processes", "in_turn"]

import contextlib
import multiprocessing
import signal
import threading
from collections import deque
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess

from vlasov.errors import MissingExtra, VlasovError
from vlasov.experiments.monitor import Watch

Tell = Callable[[float], None]
Work = Callable[[Tell, int], None]
"""Does one run, told whom to tell the share that is done, and which of the workers it is."""

Failures = dict[int, str]
"""The sentence of each run that failed, by its number."""

_PATIENCE = 0.2  # seconds between two looks for a signal


def in_turn(works: Sequence[Work], watch: Watch) -> Failures:
    """One after the other in this process."""
    failures: Failures = {}
    for number, work in enumerate(works):
        if watch.interrupted():
            break
        failure = _attempt(work, lambda share, k=number: watch.progress((k + share) / len(works)))
        if failure is not None:
            failures[number] = failure
        watch.progress((number + 1) / len(works))
    return failures


def in_processes(works: Sequence[Work], workers: int, watch: Watch) -> Failures:
    """At most `workers` at a time, each in a new process; a signal is passed on to all of them."""
    crew = _Crew(deque(enumerate(works)), len(works), workers, watch)
    try:
        while crew.busy:
            crew.go_on()
    finally:
        crew.dismiss()
    return crew.failures


def _attempt(work: Work, tell: Tell, worker: int = 0) -> str | None:
    """Do a run; the sentence of what stopped it, if anything did."""
    try:
        work(tell, worker)
    except MissingExtra:
        raise  # no other run could be done either
    except VlasovError as error:
        return str(error)
    except (ArithmeticError, MemoryError, OSError, RuntimeError, ValueError) as error:
        return f"{type(error).__name__}: {' '.join(str(error).split())}"
    return None


@dataclass(frozen=True, eq=False)
class _Running:
    number: int
    worker: int
    process: BaseProcess


class _Crew:
    """The runs that wait, those under way, and what came of the others."""

    def __init__(
        self, waiting: "deque[tuple[int, Work]]", total: int, workers: int, watch: Watch
    ) -> None:
        self.failures: Failures = {}
        self._waiting = waiting
        self._running: dict[Connection, _Running] = {}
        self._shares = [0.0] * total
        self._free = list(range(workers))
        self._watch = watch
        self._stopping = False

    @property
    def busy(self) -> bool:
        """Whether there is anything left to do or to wait for."""
        return bool(self._waiting or self._running)

    def go_on(self) -> None:
        """Start what has a place, hear what there is to hear, and pass a signal on."""
        if self._watch.interrupted() and not self._stopping:
            self._stopping = True
            self._waiting.clear()
            self._terminate()
        while self._waiting and self._free:
            self._start(*self._waiting.popleft())
        for heard in wait(list(self._running), _PATIENCE):
            if isinstance(heard, Connection):
                self._hear(heard)

    def dismiss(self) -> None:
        """End what still runs: nobody waits for it any more."""
        self._terminate()
        for one in self._running.values():
            one.process.join()

    def _terminate(self) -> None:
        for one in self._running.values():
            one.process.terminate()

    def _start(self, number: int, work: Work) -> None:
        ours, theirs = multiprocessing.Pipe(duplex=False)
        worker = self._free.pop(0)
        context = multiprocessing.get_context("spawn")
        process = context.Process(target=_enter, args=(work, theirs, worker))
        with _keyboard_unheard():
            process.start()
        theirs.close()  # so that the end of the process is the end of the pipe
        self._running[ours] = _Running(number, worker, process)

    def _hear(self, connection: Connection) -> None:
        one = self._running[connection]
        try:
            message = connection.recv()
        except EOFError:
            self._end(connection, one)
            return
        if isinstance(message, str):
            self.failures[one.number] = message
        else:
            self._tell(one.number, float(message))

    def _end(self, connection: Connection, one: _Running) -> None:
        one.process.join()
        connection.close()
        del self._running[connection]
        self._free.append(one.worker)
        status = one.process.exitcode
        if status != 0 and not self._stopping:
            self.failures.setdefault(
                one.number,
                f"The process of the run ended with status {status} before the run did. Look for "
                "a lack of memory, and go on with --resume.",
            )
        self._tell(one.number, 1.0)

    def _tell(self, number: int, share: float) -> None:
        self._shares[number] = share
        self._watch.progress(sum(self._shares) / len(self._shares))


def _enter(work: Work, told: Connection, worker: int) -> None:
    """One run, in its process; without a listener it ends at its next word."""
    failure = _attempt(work, told.send, worker)
    if failure is not None:
        with contextlib.suppress(BrokenPipeError):
            told.send(failure)


@contextlib.contextmanager
def _keyboard_unheard() -> Generator[None, None, None]:
    """A process started here ignores Ctrl-C: it is ours to pass on, in an orderly way."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    found = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, found)
