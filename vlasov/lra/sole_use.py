"""One process at a time in a folder: two that train there would write over each other's files.

The lock is the system's own, on the folder itself: no file is left behind, and it ends with the
process, however that ends. Where a system or a disk has no such locks there is none.
"""

__all__ = ["sole_use"]

import contextlib
import importlib.util
import os
import time
from collections.abc import Generator
from pathlib import Path

from vlasov.errors import RunFolderError

_LOCKS = importlib.util.find_spec("fcntl") is not None  # not on Windows
_PAUSE = 0.1  # seconds between two looks


@contextlib.contextmanager
def sole_use(folder: Path, *, patience: float = 0.0) -> Generator[None, None, None]:
    """Keep other trainings out of a folder.

    Args:
        folder: that exists.
        patience: seconds to wait for another one: a run whose grid was killed ends by itself.

    Raises:
        RunFolderError: if another one is in it.
    """
    if not _LOCKS:
        yield
        return
    number = os.open(folder, os.O_RDONLY)
    try:
        _lock(number, folder, patience)
        yield
    finally:
        os.close(number)


def _lock(number: int, folder: Path, patience: float) -> None:
    end = time.monotonic() + patience
    while not _is_locked(number):
        if time.monotonic() >= end:
            raise RunFolderError(
                "A training needs its folder for itself but another one is at work in "
                f"'{folder}'. Wait for its end, or choose another folder."
            )
        time.sleep(_PAUSE)


def _is_locked(number: int) -> bool:
    """Whether the folder is ours now, as far as that can be had."""
    import fcntl

    try:
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a disk without locks, over a network
        return True
    return True
