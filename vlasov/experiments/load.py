"""Any run folder as what was run: a `Run`, or the `Report` of another experiment."""

__all__ = ["load_run", "load_simulation"]

from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from vlasov.errors import RunFolderError
from vlasov.experiments.checkpoint import Checkpoint
from vlasov.experiments.cloud_checks import DTYPES
from vlasov.experiments.folder_store import RunFolder
from vlasov.experiments.record import restored
from vlasov.experiments.report import Report, read_report
from vlasov.run import Run


def load_run(path: str | Path) -> Run | Report:
    """The run in a folder, on the CPU; of one that was killed, the frames to its last checkpoint.

    The folder of an experiment other than a simulation holds a `Report`.

    Raises:
        RunFolderError: if the folder holds no run, is of a later version, or lacks a file.
    """
    folder = RunFolder.open(path)
    if folder.provenance().get("experiment", "simulate") != "simulate":
        return read_report(folder)
    return load_simulation(path)


def load_simulation(path: str | Path) -> Run:
    """The simulation in a folder.

    Raises:
        RunFolderError: as `load_run`, and for a folder of another experiment.
    """
    folder = RunFolder.open(path)
    folder.require_experiment("simulate")
    try:
        dtype = DTYPES[folder.provenance()["dtype"]]
        if folder.has_result:
            result = folder.result()
            return restored(result, folder.frames.read(result["frames"]), dtype)
        checkpoint = folder.checkpoint()
        if checkpoint is None:
            raise RunFolderError(
                f"The run in '{path}' was killed before its first checkpoint. "
                "Start it again with --overwrite."
            )
        arrays = folder.frames.read(checkpoint.frames) | _kept(checkpoint)
        return restored(_unfinished(float(arrays["time"][-1])), arrays, dtype)
    except KeyError as error:
        raise RunFolderError(
            f"The run in '{path}' lacks {error}. "
            "Restore the folder, or run again with --overwrite."
        ) from None


def _kept(checkpoint: Checkpoint) -> dict[str, Tensor]:
    """The only points kept; those on disk may be of another time."""
    if checkpoint.last is None:
        return {}
    time, points = checkpoint.last
    return {"points": points[None], "point_time": torch.tensor([time], dtype=torch.float64)}


def _unfinished(time: float) -> dict[str, Any]:
    return {
        "status": "unfinished",
        "message": f"Killed after t = {time:.6g}. Go on with --resume.",
        "stopped_at": time,
        "events": [],
        "steps": 0,
        "rejected": 0,
        "evaluations": 0,
        "facts": {},
        "member_status": [],
        "member_stopped_at": [],
    }
