"""Curves for TensorBoard, where it is installed.

Events are written when they are told, in no thread: what a disk refuses is known at once.
"""

__all__ = ["EventFile", "event_file"]

import importlib
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from vlasov.errors import RunFolderError

_RECORDS = "tensorboard.summary.writer.record_writer"
_EVENTS = "tensorboard.compat.proto.event_pb2"
_SUMMARIES = "tensorboard.compat.proto.summary_pb2"
_VERSION = "brain.Event:2"


class EventFile:
    """A file of events in a folder, for one start of a training.

    Args:
        folder: made if it does not exist.
        epoch: where this start begins; what an earlier one wrote from there on is hidden.

    Raises:
        ImportError: without TensorBoard.
        RunFolderError: for a disk that cannot be written.
    """

    def __init__(self, folder: Path, epoch: int) -> None:
        self._records, self._kinds, self._summaries = map(
            importlib.import_module, (_RECORDS, _EVENTS, _SUMMARIES)
        )
        self._path = folder / f"events.out.tfevents.{time.time():.6f}.{os.getpid()}"
        self._write(file_version=_VERSION)
        if epoch:
            start = self._kinds.SessionLog(status=self._kinds.SessionLog.START)
            self._write(step=epoch, session_log=start)

    def scalars(self, values: Mapping[str, float], epoch: int) -> None:
        """Numbers of an epoch, by name."""
        kind = self._summaries.Summary
        found = kind(value=[kind.Value(tag=tag, simple_value=x) for tag, x in values.items()])
        self._write(step=epoch, summary=found)

    def _write(self, **content: Any) -> None:  # noqa: ANN401 - fields of a generated message
        event = self._kinds.Event(wall_time=time.time(), **content)
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with self._path.open("ab") as file:
                self._records.RecordWriter(file).write(event.SerializeToString())
        except OSError as error:
            raise RunFolderError(
                f"Cannot write '{self._path}': {error.strerror}. Free or choose another folder."
            ) from None


def event_file(folder: Path, epoch: int) -> EventFile | None:
    """A file of events; None without TensorBoard.

    Raises:
        RunFolderError: for a disk that cannot be written.
    """
    try:
        return EventFile(folder, epoch)
    except ImportError:
        return None
