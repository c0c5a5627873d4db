"""The finished pieces of a long experiment, so that it can be interrupted and go on."""

__all__ = ["Interrupted", "Pieces"]

import shutil
from collections.abc import Callable, Mapping

from torch import Tensor

from vlasov.experiments.array_archive import read_archive, write_archive
from vlasov.experiments.folder_store import RunFolder
from vlasov.experiments.monitor import Watch

Piece = Mapping[str, Tensor]

_FOLDER = "pieces"


class Interrupted(Exception):
    """Someone asked the experiment to stop; the pieces finished so far are in the folder."""


class Pieces:
    """Computes pieces by name, or reads them where an earlier run has finished them.

    A piece must be a function of the settings and its name alone: then an interrupted experiment
    ends with the same numbers as an uninterrupted one.
    """

    def __init__(self, folder: RunFolder | None, watch: Watch, total: int) -> None:
        """Pieces in a folder (None: kept nowhere); `total` is their number, for the progress."""
        self._path = None if folder is None else folder.path / _FOLDER
        self._watch = watch
        self._total = total
        self._done = 0

    def get(self, name: str, compute: Callable[[], Piece]) -> dict[str, Tensor]:
        """The piece of that name.

        Raises:
            Interrupted: if a signal came before the piece was begun.
        """
        if self._watch.interrupted():
            raise Interrupted
        path = None if self._path is None else self._path / f"{name}.npz"
        if path is None:
            found = dict(compute())
        elif path.exists():
            found = read_archive(path)
        else:
            found = dict(compute())
            path.parent.mkdir(exist_ok=True)
            write_archive(path, found)
        self._done += 1
        self._watch.progress(self._done / self._total)
        return found

    def remove(self) -> None:
        """Remove the pieces: the report holds their numbers."""
        if self._path is not None:
            shutil.rmtree(self._path, ignore_errors=True)
