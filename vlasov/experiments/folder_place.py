"""Where a run folder lies: folders made for it, and what it replaces."""

__all__ = ["made_folders", "set_aside"]

import contextlib
import shutil
from collections.abc import Generator
from pathlib import Path

from vlasov.errors import RunFolderError

_ASIDE = ".replaced"


@contextlib.contextmanager
def set_aside(path: Path, *, keep: bool = False) -> Generator[None, None, None]:
    """Put what a folder holds aside, and back if what takes its place fails.

    With `keep` that stays, failed or not.
    """
    aside = path / _ASIDE
    shutil.rmtree(aside, ignore_errors=True)
    aside.mkdir()
    _move(path, aside)
    try:
        yield
    except Exception:
        if not keep:
            for made in _visible(path):
                shutil.rmtree(made) if made.is_dir() else made.unlink()
            _move(aside, path)
        raise
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def _visible(path: Path) -> list[Path]:
    """What a folder shows; nothing if someone removed it."""
    inside = path.iterdir() if path.is_dir() else ()
    return [inner for inner in inside if not inner.name.startswith(".")]


def _move(source: Path, target: Path) -> None:
    for path in _visible(source):
        path.rename(target / path.name)


def made_folders(path: Path) -> tuple[Path, ...]:
    """Make a folder and those above it; the ones that were missing, the innermost last.

    Raises:
        RunFolderError: if it cannot be made.
    """
    missing = [p for p in (path, *path.parents) if not p.exists()]
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RunFolderError(
            f"Cannot create the run folder '{path}': {error.strerror}. Choose another with --out."
        ) from None
    return tuple(reversed(missing))
