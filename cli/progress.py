"""How far a run is: a bar with the time left on a terminal, a few plain lines elsewhere."""

__all__ = ["follow"]

import contextlib
import datetime
import time as clock
from collections.abc import Callable, Generator
from dataclasses import dataclass, field

from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    ProgressColumn,
    Task,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
)
from rich.text import Text

_EVERY = 0.1  # seconds between two looks at the bar
_LINES = 10


@contextlib.contextmanager
def follow(
    label: str, until: float, *, begin: float = 0.0, quiet: bool = False
) -> Generator[Callable[[float], None], None, None]:
    """A function to call with what is reached, on the way from `begin` to `until`.

    It writes to stderr.
    """
    console, pace = Console(stderr=True), _Pace(begin, until)
    if quiet:
        yield lambda reached: None
    elif console.is_terminal:
        with _bar(console) as bar:
            task = bar.add_task(label, total=until, ends=None)
            bar.update(task, completed=begin)
            yield _seldom(
                lambda reached: bar.update(task, completed=reached, ends=pace.ends(reached))
            )
    else:
        yield _lines(console, label, pace)


@dataclass(frozen=True)
class _Pace:
    """How long the whole way takes, judged by the part that is done."""

    begin: float
    until: float
    start: float = field(default_factory=lambda: clock.monotonic())

    @property
    def spent(self) -> float:
        """Seconds from the start."""
        return clock.monotonic() - self.start

    def ends(self, reached: float) -> float | None:
        """Seconds from the start to the end; None before anything is done."""
        done = reached - self.begin
        return self.spent * (self.until - self.begin) / done if done > 0 else None


class _TimeLeft(ProgressColumn):
    """Counts down also while a single step takes long."""

    def render(self, task: Task) -> Text:
        """Hours, minutes and seconds."""
        ends = task.fields["ends"]
        if ends is None:
            return Text("-:--:--", style="progress.remaining")
        left = max(0, round(ends - (task.elapsed or 0.0)))
        return Text(str(datetime.timedelta(seconds=left)), style="progress.remaining")


def _bar(console: Console) -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        _TimeLeft(),
        console=console,
        transient=True,
    )


def _seldom(tell: Callable[[float], None]) -> Callable[[float], None]:
    last = 0.0

    def tick(reached: float) -> None:
        nonlocal last
        now = clock.monotonic()
        if now - last > _EVERY:
            last = now
            tell(reached)

    return tick


def _lines(console: Console, label: str, pace: _Pace) -> Callable[[float], None]:
    """One line for each tenth of the way: log files stay short."""
    done = 0

    def tick(reached: float) -> None:
        nonlocal done
        tenths = int(_LINES * reached / pace.until) if pace.until > 0 else _LINES
        if tenths <= done:
            return
        done, spent = tenths, pace.spent
        left = max(0.0, (pace.ends(reached) or spent) - spent)
        console.out(f"{label}: {10 * done} %, {spent:.1f} s spent, {left:.1f} s left")

    return tick
