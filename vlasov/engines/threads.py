"""Compiled work spread over as many threads as torch uses."""

__all__ = ["in_threads"]

import functools
import itertools
import math
import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import torch

Found = TypeVar("Found")


class _Here(threading.local):
    """Whether this thread is one of the pool, which must not wait for others of it."""

    works = False


_HERE = _Here()
_WORTH = 3e5  # nanoseconds: threads take about as long to begin
_SHARES = 4  # for each thread: a slow share does not keep the others waiting


def _enter() -> None:
    _HERE.works = True


@functools.cache
def _pool(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads, thread_name_prefix="vlasov", initializer=_enter)


os.register_at_fork(after_in_child=_pool.cache_clear)


def in_threads(
    work: Callable[[tuple[int, int]], Found], blocks: int, cost: float = math.inf
) -> list[Found]:
    """Call ``work((first, end))`` on ranges that cover all blocks, and list what it returns.

    It must release the interpreter's lock, and results must not depend on how blocks are grouped.
    Called by such work itself, it takes no further threads. Nor does it for work whose `cost`, an
    estimate in nanoseconds, is less than what threads take to begin.
    """
    alone = _HERE.works or cost < _WORTH
    threads = 1 if alone else min(torch.get_num_threads(), blocks)
    if threads <= 1:
        return [work((0, blocks))]
    shares = min(blocks, _SHARES * threads)
    ends = [blocks * share // shares for share in range(shares + 1)]
    return list(_pool(threads).map(work, itertools.pairwise(ends)))
