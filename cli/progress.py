"""How far a run is: a bar with the time left on a terminal, a few plain lines elsewhere."""

__all__ = ["follow"]

import contextlib
import time as clock
from collections.abc import Callable, Generator

from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

_EVERY = 0.1  # seconds between two looks at the bar
_LINES = 10


@contextlib.contextmanager
def follow(
    label: str, until: float, *, quiet: bool = False
) -> Generator[Callable[[float], None], None, None]:
    """A function to call with the time reached, on the way to `until`; it writes to stderr."""
    console = Console(stderr=True)
    if quiet:
        yield lambda reached: None
    elif console.is_terminal:
        with _bar(console) as bar:
            task = bar.add_task(label, total=until)
            yield _seldom(lambda reached: bar.update(task, completed=reached))
    else:
        yield _lines(console, label, until)


def _bar(console: Console) -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
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


def _lines(console: Console, label: str, until: float) -> Callable[[float], None]:
    """One line for each tenth of the way: log files stay short."""
    start, done = clock.monotonic(), 0

    def tick(reached: float) -> None:
        nonlocal done
        tenths = int(_LINES * reached / until) if until > 0 else _LINES
        if tenths <= done:
            return
        done = tenths
        spent = clock.monotonic() - start
        left = spent * (until / reached - 1) if reached > 0 else 0.0
        console.out(f"{label}: {10 * done} %, {spent:.1f} s spent, {left:.1f} s left")

    return tick
