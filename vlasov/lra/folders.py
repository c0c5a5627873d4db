"""Where the data of a task lies below a folder, and folders that appear only once complete."""

__all__ = ["find_folder", "fresh_folder"]

import shutil
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from vlasov.errors import InvalidValue, RunFolderError, VlasovError

_DEPTH = 3  # folders below the given one: the release nests lra_release/lra_release/listops-1000


def find_folder(folder: Path, parts: Sequence[str], *, task: str) -> Path:
    """The one folder at or below `folder` that holds these files and folders.

    Args:
        folder: the task's own folder, or one that holds it up to three levels down.
        parts: paths inside the wanted folder, all of which must be there.
        task: for the messages.

    Raises:
        InvalidValue: where there is none, one with a part missing, or more than one.
    """
    if not folder.is_dir():
        raise InvalidValue(
            f"The data of '{task}' needs a folder but '{folder}' is none. Check the path."
        )
    found = [
        place for place in _folders(folder, _DEPTH) if any((place / p).exists() for p in parts)
    ]
    if not found:
        raise InvalidValue(
            f"The data of '{task}' needs {_listed(parts)} in one folder but '{folder}' and what "
            f"it holds down to level {_DEPTH} have none of them. Check the path."
        )
    if len(found) > 1:
        raise InvalidValue(
            f"The data of '{task}' needs one folder but {_listed(map(str, found))} all hold such "
            "files. Give the right one itself, or remove the copies."
        )
    missing = [part for part in parts if not (found[0] / part).exists()]
    if missing:
        raise InvalidValue(
            f"The data of '{task}' needs {_listed(parts)} but '{found[0]}' lacks "
            f"{_listed(missing)}. Complete the copy."
        )
    return found[0]


@contextmanager
def fresh_folder(folder: Path, *, overwrite: bool = False) -> Generator[Path, None, None]:
    """A folder to write into that takes its name when all is written, and is gone otherwise.

    Raises:
        RunFolderError: for a name that is taken, unless it is to be overwritten and holds nothing
            but files of the same names; for a disk that cannot be written.
    """
    target = folder.resolve()
    if target.exists() and not overwrite:
        raise RunFolderError(
            f"Making data needs a new folder but '{folder}' exists. Choose another name, or "
            "overwrite it on purpose."
        )
    partial = target.with_name(f".{target.name}.partial")
    try:
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(parents=True)
        yield partial
        _replace(target, partial)
    except VlasovError:
        raise
    except OSError as error:
        raise RunFolderError(
            f"Making data needs a folder to write but '{folder}' is none ({error.strerror}). "
            "Choose another, or make room."
        ) from None
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _replace(target: Path, partial: Path) -> None:
    if target.exists():
        others = {path.name for path in target.iterdir()} - {p.name for p in partial.iterdir()}
        if others:
            raise RunFolderError(
                f"Overwriting needs a folder of such data alone but '{target}' holds "
                f"{_listed(sorted(others)[:3])}, too. Choose another name."
            )
        shutil.rmtree(target)
    partial.rename(target)


def _folders(folder: Path, depth: int) -> Iterator[Path]:
    """A folder and those below it, hidden ones left out."""
    yield folder
    if depth:
        below = (path for path in folder.iterdir() if not path.name.startswith("."))
        for path in sorted(path for path in below if path.is_dir()):
            yield from _folders(path, depth - 1)


def _listed(names: Sequence[str] | Iterator[str]) -> str:
    return ", ".join(f"'{name}'" for name in names)
