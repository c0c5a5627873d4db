"""Compiled work spread over as many threads as torch uses."""

__all__ = ["in_threads"]

import functools
import itertools
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import torch

Found = TypeVar("Found")

_SHARES = 4  # for each thread: a slow share does not keep the others waiting


@functools.cache
def _pool(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads, thread_name_prefix="vlasov")


os.register_at_fork(after_in_child=_pool.cache_clear)


def in_threads(work: Callable[[tuple[int, int]], Found], blocks: int) -> list[Found]:
    """Call ``work((first, end))`` on ranges that cover all blocks, and list what it returns.

    It must release the interpreter's lock, and results must not depend on how blocks are grouped.
    """
    threads = min(torch.get_num_threads(), blocks)
    if threads <= 1:
        return [work((0, blocks))]
    shares = min(blocks, _SHARES * threads)
    ends = [blocks * share // shares for share in range(shares + 1)]
    return list(_pool(threads).map(work, itertools.pairwise(ends)))
