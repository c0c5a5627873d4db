"""A simulation written to its run folder while it runs: frames, checkpoints, progress."""

__all__ = ["FolderMonitor", "Watch"]

import time as clock
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from vlasov.cloud import Cloud
from vlasov.errors import InvalidValue
from vlasov.experiments.checkpoint import Checkpoint
from vlasov.experiments.folder_store import RunFolder

_BUFFER_BYTES = 2**22
_SECONDS = 2.0  # between two checkpoints, and the longest that frames stay in memory
_RATE = 2e6  # bytes of checkpoints a second, on average: large ones are written more rarely
_RESERVED = frozenset({"time", "points", "point_time", "error", "log_weights", "positions"})


def _ignore(time: float) -> None: ...


@dataclass(frozen=True)
class Watch:
    """Who follows a run: told the time after each step, asked whether to stop."""

    progress: Callable[[float], None] = _ignore
    interrupted: Callable[[], bool] = bool


class FolderMonitor:
    """Appends frames to a run folder, and now and then a checkpoint that refers to frames on disk.

    Whatever kills the process, the folder holds the frames up to the last checkpoint. `start` is
    called once, before the first frame is written: until then the folder is untouched.
    """

    def __init__(
        self,
        folder: RunFolder,
        cloud: Cloud,
        *,
        keep: str = "all",
        watch: Watch | None = None,
        start: Callable[[], None] | None = None,
        resumed: Checkpoint | None = None,
    ) -> None:
        """A monitor for a new run, or for one that goes on from `resumed`."""
        self._folder = folder
        self._cloud = cloud
        self._keep = keep
        self._watch = watch or Watch()
        self._start = start
        self.frames = resumed.frames if resumed else 0
        self._last = resumed.last if resumed else None
        self._columns: dict[str, list[Tensor]] = {}
        self._bytes = 0
        self._pending: Checkpoint | None = None
        self._stepped = True
        self._flushed = self._saved = clock.monotonic()
        if resumed:
            folder.frames.truncate(resumed.frames)

    @property
    def started(self) -> bool:
        """Whether the folder holds anything of this run."""
        return self.frames > 0

    def frame(
        self, time: float, points: Tensor, observables: Mapping[str, Tensor], error: float | None
    ) -> None:
        """Take a frame; it goes to disk with others."""
        self._begin(observables)
        points = points.detach().to("cpu", copy=True)
        wide = torch.float64
        self._add("time", torch.tensor(time, dtype=wide))
        self._add("error", torch.tensor(float("nan") if error is None else error, dtype=wide))
        for name, value in observables.items():
            self._add(name, value.detach().to("cpu", copy=True))
        if self._keep == "all":
            self._add("points", points)
        else:
            self._last = (time, points)
        self.frames += 1
        self._stepped = False
        if self._bytes > _BUFFER_BYTES or clock.monotonic() - self._flushed > _SECONDS:
            self._flush()

    def checkpoint(self, state: Mapping[str, Any]) -> None:
        """Take a state; it is written every few seconds (large ones less often) and at the end."""
        self._pending = Checkpoint(self.frames, state, self._last)
        if clock.monotonic() - self._saved > max(_SECONDS, _size(state) / _RATE):
            self._save()

    def step(self, time: float) -> bool:
        """Pass the time on; False where the run should stop."""
        self._stepped = True
        self._watch.progress(time)
        return not self._watch.interrupted()

    def close(self, *, goes_on: bool = False) -> None:
        """Write what is still in memory.

        A frame that no step followed marks the end of the run. Where it `goes_on` later, the
        checkpoint does not count that frame: an uninterrupted run would not have it.
        """
        if not self.started:
            return
        if goes_on and not self._stepped and self._pending is not None:
            self._pending = replace(self._pending, frames=self.frames - 1)
        self._flush()
        if self._keep == "last" and self._last is not None:
            time, points = self._last
            batch = tuple(f"batch_{i}" for i in range(points.ndim - 2))
            store = self._folder.frames
            store.put("points", points[None], ("kept", *batch, "token", "coordinate"))
            store.put("point_time", torch.tensor([time], dtype=torch.float64), ("kept",))
        self._save()

    def _begin(self, observables: Mapping[str, Tensor]) -> None:
        if self.frames:
            return
        taken = sorted(_RESERVED & observables.keys())
        if taken:
            raise InvalidValue(
                f"An observable cannot be called '{taken[0]}': the run folder uses that name. "
                "Choose another."
            )
        if self._start is not None:
            self._start()
        batch = tuple(f"batch_{i}" for i in range(len(self._cloud.batch_shape)))
        self._folder.frames.put("log_weights", self._cloud.log_weights, (*batch, "token"))
        if self._cloud.positions is not None:
            self._folder.frames.put("positions", self._cloud.positions, (*batch, "token"))

    def _add(self, name: str, value: Tensor) -> None:
        self._columns.setdefault(name, []).append(value)
        self._bytes += value.nelement() * value.element_size()

    def _flush(self) -> None:
        columns, self._columns, self._bytes = self._columns, {}, 0
        if columns:
            self._folder.frames.append(columns, batch=len(self._cloud.batch_shape))
        self._flushed = clock.monotonic()

    def _save(self) -> None:
        if self._pending is None:
            return
        self._flush()
        self._folder.write_checkpoint(self._pending)
        self._pending = None
        self._saved = clock.monotonic()


def _size(value: object) -> int:
    """The bytes of the tensors in nested containers."""
    if isinstance(value, Tensor):
        return value.nelement() * value.element_size()
    if isinstance(value, Mapping):
        return sum(map(_size, value.values()))
    return sum(map(_size, value)) if isinstance(value, list | tuple) else 0
