"""Work is shared among threads: every block once, results in order, errors of any share raised."""

import subprocess
import sys
import threading
import time

import pytest
import torch

from vlasov.engines.threads import in_threads

BLOCKS = 37


@pytest.fixture(autouse=True, params=[1, 2, 3])
def threads(request):
    before = torch.get_num_threads()
    torch.set_num_threads(request.param)
    yield request.param
    torch.set_num_threads(before)


def test_every_block_is_done_once_and_results_stand_in_order():
    found = in_threads(lambda span: list(range(*span)), BLOCKS)
    assert [block for share in found for block in share] == list(range(BLOCKS))


def test_other_threads_take_shares_too(threads):
    seen = set()

    def work(span):
        seen.add(threading.get_ident())
        time.sleep(0.01)

    in_threads(work, BLOCKS)
    assert len(seen) == threads


def test_work_that_takes_less_than_a_thread_to_begin_is_done_here():
    found = in_threads(lambda span: (span, threading.get_ident()), BLOCKS, cost=1e3)
    assert found == [((0, BLOCKS), threading.get_ident())]


def test_long_work_is_cut_into_shares_of_a_tenth_of_a_second():
    assert len(in_threads(lambda span: span, 1000, cost=30e9)) == 300


@pytest.mark.parametrize("broken", [0, BLOCKS // 2, BLOCKS - 1])
def test_an_error_of_any_share_is_raised_when_no_thread_is_at_work(broken):
    at_work = [0]

    def work(span):
        at_work[0] += 1
        time.sleep(0.002)
        at_work[0] -= 1
        if span[0] <= broken < span[1]:
            raise IndexError(f"block {broken}")

    with pytest.raises(IndexError, match=f"block {broken}"):
        in_threads(work, BLOCKS)
    assert at_work == [0]
    assert sum(len(range(*span)) for span in in_threads(lambda span: span, BLOCKS)) == BLOCKS


def test_work_within_work_takes_no_further_threads():
    def work(span):
        within = in_threads(lambda _: threading.get_ident(), BLOCKS)
        return within == [threading.get_ident()]

    assert all(in_threads(work, BLOCKS))


def test_callers_in_several_threads_wait_for_nobody():
    sums = []

    def call():
        sums.extend(sum(range(*span)) for span in in_threads(lambda span: span, BLOCKS))

    callers = [threading.Thread(target=call) for _ in range(8)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join(timeout=30)
    assert sum(sums) == 8 * sum(range(BLOCKS))


AT_THE_END = """
import atexit, torch
from vlasov.engines.threads import in_threads
torch.set_num_threads(2)
atexit.register(lambda: print(sum(sum(range(*r)) for r in in_threads(lambda r: r, 37))))
in_threads(lambda r: r, 37)
"""


def test_at_the_end_of_a_process_work_is_done_without_further_threads():
    found = subprocess.check_output([sys.executable, "-c", AT_THE_END], text=True)
    assert int(found) == sum(range(BLOCKS))
