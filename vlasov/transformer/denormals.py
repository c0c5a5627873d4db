"""Numbers too small for full precision, set to zero while collapsed states are computed."""

__all__ = ["flushed_denormals"]

from collections.abc import Generator
from contextlib import contextmanager

import torch


@contextmanager
def flushed_denormals() -> Generator[None]:
    """Flush denormal numbers to zero inside, as before outside: with them a CPU is very slow.

    It holds for the calling thread and for threads of torch that start inside; those already
    started keep their way. Results change by less than the smallest normal number.

    Example:
        >>> with flushed_denormals():
        ...     (torch.tensor(1e-310, dtype=torch.float64) * 1.0).item()
        0.0
    """
    before = _flushing()
    torch.set_flush_denormal(True)
    try:
        yield
    finally:
        torch.set_flush_denormal(before)


def _flushing() -> bool:
    """Whether denormals are flushed now: torch sets the mode but does not tell it."""
    return (torch.tensor(1e-310, dtype=torch.float64) * 1.0).item() == 0.0
