"""Compiled work spread over as many threads as torch uses."""

__all__ = ["in_threads"]

import functools
import itertools
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import torch

_SHARES = 4  # for each thread: a slow share does not keep the others waiting


@functools.cache
def _pool(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads, thread_name_prefix="vlasov")


os.register_at_fork(after_in_child=_pool.cache_clear)


def in_threads(work: Callable[[tuple[int, int]], None], blocks: int) -> None:
    """Call ``work((first, end))`` on ranges that cover all blocks; it must release the lock.

    Results must not depend on how blocks are grouped.
    """
    threads = min(torch.get_num_threads(), blocks)
    if threads <= 1:
        work((0, blocks))
        return
    shares = min(blocks, _SHARES * threads)
    ends = [blocks * share // shares for share in range(shares + 1)]
    # `list` waits, and passes on what a share raised
    list(_pool(threads).map(work, itertools.pairwise(ends)))
