"""How much memory a training needs: on a GPU, or in a process that trains nothing else.

The resident peak is that of the kernel's table; the one of ``getrusage`` is never below what the
process that started this one held, and other systems have no table.
"""

__all__ = ["peak_memory"]

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import torch

T = TypeVar("T")

_STATUS = Path("/proc/self/status")
_FORGET = Path("/proc/self/clear_refs")
_RESET = "5"  # of the peak alone
_KILO = 1024


def peak_memory(job: Callable[[], T]) -> tuple[T, int | None]:
    """Do a job; what it returns, and the bytes at its peak, less those held before on a CPU.

    None where that is not known: without the table of Linux, or for a job that stays within what
    an earlier one of this process has freed.
    """
    if torch.cuda.is_available():
        torch.cuda.reset_peak_memory_stats()
        return job(), torch.cuda.max_memory_allocated()
    with contextlib.suppress(OSError):
        _FORGET.write_text(_RESET)
    before, held = _kilobytes("VmHWM"), _kilobytes("VmRSS")
    done = job()
    peak = _kilobytes("VmHWM")
    if before is None or held is None or peak is None or peak <= before:
        return done, None
    return done, _KILO * (peak - held)


def _kilobytes(name: str) -> int | None:
    """A line of the table; None on systems without it."""
    if not _STATUS.exists():
        return None
    lines = _STATUS.read_text(encoding="ascii", errors="replace").splitlines()
    return next((int(line.split()[1]) for line in lines if line.startswith(f"{name}:")), None)
