"""A run folder: what was asked, what came out, and from where it can go on.

``config.json`` (resolved settings), ``result.json`` (how it ended; strict JSON, see
`atomic_file.strict`), ``trajectory.zarr`` (frames), ``provenance.json`` (versions, seed, device,
wall time), ``tokens.json`` (the words of a text), ``checkpoint.pt``, figures. Experiments other
than a simulation write tables ``*.csv`` and ``arrays.npz`` instead of frames.
"""

__all__ = ["SCHEMA", "RunFolder"]

import contextlib
import json
import os
import secrets
import shutil
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from vlasov.atomic_file import write_json
from vlasov.errors import RunFolderError
from vlasov.experiments.checkpoint import Checkpoint, load_checkpoint, save_checkpoint
from vlasov.experiments.folder_place import made_folders
from vlasov.experiments.trajectory_store import TrajectoryStore

SCHEMA = 1
_PROGRAM = "vlasov"
_CONFIG, _RESULT, _PROVENANCE = "config.json", "result.json", "provenance.json"
_WORDS, _CHECKPOINT, _FRAMES = "tokens.json", "checkpoint.pt", "trajectory.zarr"
_PIECES, _ARRAYS = "pieces", "arrays.npz"
_MADE = ("*.png", "*.pdf", "*.svg", "*.gif", "*.mp4", "*.html", "*.csv")


class RunFolder:
    """One folder for one run; the path is kept exactly as given."""

    def __init__(self, path: Path, *, made: tuple[Path, ...] = ()) -> None:
        """A folder that exists; `made` are the folders created for it, the innermost last."""
        self.path = path
        self._made = made

    @classmethod
    def create(cls, path: str | Path, *, overwrite: bool = False) -> "RunFolder":
        """A new folder, or one to be written over; nothing is deleted before `begin`.

        Raises:
            RunFolderError: if the folder holds anything (unless that is a run and `overwrite` is
                given), or cannot be written to.
        """
        path = Path(path)
        made = made_folders(path)
        if not os.access(path, os.W_OK | os.X_OK):
            raise RunFolderError(f"'{path}' is not writable. Choose another folder with --out.")
        if any(path.iterdir()) and not (overwrite and _is_ours(path)):
            what = "already holds a run" if _is_ours(path) else "is not empty and holds no run"
            remedy = "Add --resume or --overwrite, or choose" if _is_ours(path) else "Choose"
            raise RunFolderError(f"'{path}' {what}. {remedy} another folder with --out.")
        return cls(path, made=made)

    @classmethod
    def create_new(cls, experiment: str, root: str | Path = "runs") -> "RunFolder":
        """A folder ``runs/EXPERIMENT-DATE-TIME-ID``; two runs of one second do not collide."""
        stamp = time.strftime("%Y%m%d-%H%M%S")
        path = Path(root) / f"{experiment}-{stamp}-{secrets.token_hex(2)}"
        return cls.create_new(experiment, root) if path.exists() else cls.create(path)

    @classmethod
    def open(cls, path: str | Path) -> "RunFolder":
        """A folder that holds a run.

        Raises:
            RunFolderError: if it does not, or was written by a later version.
        """
        path = Path(path)
        if not path.is_dir():
            raise RunFolderError(f"'{path}' is not a folder. Give the folder of a run.")
        schema = RunFolder(path).provenance().get("schema")
        if not isinstance(schema, int) or not 1 <= schema <= SCHEMA:
            raise RunFolderError(
                f"'{path}' has schema version {schema} but this vlasov reads versions 1 to "
                f"{SCHEMA}. Install a newer vlasov."
            )
        return cls(path)

    @property
    def frames(self) -> TrajectoryStore:
        """The frames."""
        return TrajectoryStore(self.path / _FRAMES)

    @property
    def has_result(self) -> bool:
        """Whether the run in it has ended in an orderly way."""
        return (self.path / _RESULT).exists()

    def begin(self, config: Mapping[str, Any], provenance: Mapping[str, Any]) -> None:
        """Remove an earlier run and write down what is about to be run."""
        self._clear()
        self.write_provenance(provenance)
        self.write_config(config)

    def write_config(self, config: Mapping[str, Any]) -> None:
        """The settings of the run, as they are from now on."""
        write_json(self.path / _CONFIG, config)

    def discard(self) -> None:
        """Take back folders that were created and stayed empty."""
        for path in reversed(self._made):
            with contextlib.suppress(OSError):
                path.rmdir()

    def config(self) -> dict[str, Any]:
        """The settings of the run."""
        return self._read(_CONFIG)

    def provenance(self) -> dict[str, Any]:
        """Where the run comes from."""
        found = self._read(_PROVENANCE)
        if found.get("program") != _PROGRAM:
            raise RunFolderError(f"'{self.path}' was not written by vlasov. Give a run folder.")
        return found

    def require_experiment(self, name: str) -> None:
        """Refuse the folder of another experiment.

        Raises:
            RunFolderError: naming the one it holds.
        """
        found = self.provenance().get("experiment", "simulate")
        if found != name:
            raise RunFolderError(
                f"'{self.path}' holds a run of `vlasov {found}`, not of `vlasov {name}`. "
                "Give its own folder."
            )

    def write_provenance(self, provenance: Mapping[str, Any]) -> None:
        """Write down where the run comes from; marks the folder as a run folder."""
        write_json(self.path / _PROVENANCE, {"program": _PROGRAM, "schema": SCHEMA, **provenance})

    def words(self) -> list[str]:
        """The words that the tokens stand for; none for a cloud of numbers."""
        return self._read(_WORDS)["tokens"] if (self.path / _WORDS).exists() else []

    def write_words(self, words: Sequence[str]) -> None:
        """Write down the words that the tokens stand for."""
        write_json(self.path / _WORDS, {"tokens": words})

    def result(self) -> dict[str, Any]:
        """How the run ended."""
        return self._read(_RESULT)

    def write_result(self, result: Mapping[str, Any]) -> None:
        """Write down how the run ended."""
        write_json(self.path / _RESULT, result)

    def drop_result(self) -> None:
        """Forget how the run ended, because it goes on."""
        (self.path / _RESULT).unlink(missing_ok=True)

    def checkpoint(self) -> Checkpoint | None:
        """From where the run can go on; None before the first checkpoint."""
        path = self.path / _CHECKPOINT
        return load_checkpoint(path) if path.exists() else None

    def write_checkpoint(self, checkpoint: Checkpoint) -> None:
        """Put a checkpoint in the place of the one before."""
        save_checkpoint(self.path / _CHECKPOINT, checkpoint)

    def contents(self) -> list[Path]:
        """Everything in the folder, a folder of frames counting as one."""
        return sorted(p for p in self.path.iterdir() if not p.name.startswith("."))

    def _read(self, name: str) -> dict[str, Any]:
        path = self.path / name
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise RunFolderError(
                f"'{self.path}' has no {name}. Give the folder of a run, whole."
            ) from None
        except (OSError, ValueError) as error:
            raise RunFolderError(f"'{path}' cannot be read ({error}). Restore the file.") from None
        if not isinstance(found, dict):
            raise RunFolderError(f"'{path}' must hold an object. Restore the file.")
        return found

    def _clear(self) -> None:
        for inner in (_FRAMES, _PIECES):
            shutil.rmtree(self.path / inner, ignore_errors=True)
        made = [path for pattern in (*_MADE, ".*.tmp") for path in self.path.glob(pattern)]
        names = (_ARRAYS, _CHECKPOINT, _RESULT, _WORDS, _CONFIG, _PROVENANCE)
        for path in (*made, *map(self.path.joinpath, names)):
            path.unlink(missing_ok=True)


def _is_ours(path: Path) -> bool:
    try:
        return bool(RunFolder(path).provenance())
    except RunFolderError:
        return False
