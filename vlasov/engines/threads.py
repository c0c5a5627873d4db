"""Compiled work spread over as many threads as torch uses."""

__all__ = ["in_threads"]

import functools
import itertools
import math
import os
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from typing import TypeVar

import torch

Found = TypeVar("Found")
_Range = tuple[int, int]


class _Here(threading.local):
    """Whether this thread does a share of some work, which must not wait for other threads."""

    works = False


_HERE = _Here()
_WORTH = 3e5  # nanoseconds: threads take about as long to begin
_SHARES = 4  # for each thread: a slow share does not keep the others waiting
_LONGEST = 1e8  # nanoseconds of a share, after which an interruption is heeded


@functools.cache
def _pool(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads, thread_name_prefix="vlasov")


os.register_at_fork(after_in_child=_pool.cache_clear)


def in_threads(
    work: Callable[[_Range], Found], blocks: int, cost: float = math.inf
) -> list[Found]:
    """Call ``work((first, end))`` on ranges that cover all blocks, and list what it returns.

    It must release the interpreter's lock, and results must not depend on how blocks are grouped.
    Called by such work itself, it takes no further threads. Nor does it for work whose `cost`, an
    estimate in nanoseconds, is less than what threads take to begin.
    """
    alone = _HERE.works or cost < _WORTH
    threads = 1 if alone else min(torch.get_num_threads(), blocks)
    if threads <= 1:
        return [work(span) for span in _ranges(blocks, 1, cost)]
    ranges = _ranges(blocks, _SHARES * threads, cost)
    left, found = deque(enumerate(ranges)), dict[int, Found]()

    def take() -> None:
        for place, span in _popped(left):
            found[place] = work(span)

    with _beside(take, threads - 1):
        try:
            take()
        finally:
            left.clear()
    return [found[place] for place in range(len(ranges))]


def _ranges(blocks: int, shares: int, cost: float) -> list[_Range]:
    """At least so many shares of the blocks, if there are as many, and none that is long."""
    if cost < math.inf:
        shares = max(shares, math.ceil(cost / _LONGEST))
    shares = max(1, min(shares, blocks))
    ends = [blocks * share // shares for share in range(shares + 1)]
    return list(itertools.pairwise(ends))


def _popped(left: deque[tuple[int, _Range]]) -> Iterator[tuple[int, _Range]]:
    while True:
        try:
            yield left.popleft()
        except IndexError:
            return


@contextmanager
def _beside(task: Callable[[], None], threads: int) -> Generator[None]:
    """A task in so many threads of the pool, those of them that are free before the end."""

    def run() -> None:
        _HERE.works = True
        task()

    others: list[Future[None]] = []
    with suppress(RuntimeError):  # at the end of the process no thread begins
        others.extend(_pool(threads).submit(run) for _ in range(threads))
    _HERE.works = True
    try:
        yield
    finally:
        _HERE.works = False
        begun = [other for other in others if not other.cancel()]
        wait(begun)
    for other in begun:
        other.result()
