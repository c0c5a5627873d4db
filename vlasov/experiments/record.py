"""A run as strict JSON and back, and where it came from."""

__all__ = ["provenance_of", "restored", "result_of"]

import platform
import sys
import time
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from vlasov.engines.engine_report import EngineReport
from vlasov.run import EventRecord, Run

_SHORT = 100  # numbers; longer observables are in trajectory.zarr alone


def result_of(run: Run) -> dict[str, Any]:
    """How a run ended: status, last observables (short ones), counters, events; no frames."""
    return {
        "experiment": "simulate",
        "status": run.status,
        "message": run.message,
        "stopped_at": run.stopped_at,
        "frames": len(run.times),
        "steps": run.steps,
        "rejected": run.rejected,
        "evaluations": run.evaluations,
        "error": None if run.error is None else float(run.error[-1]),
        "observables": {
            name: values[-1]
            for name, values in run.observables.items()
            if len(values) and values[-1].numel() <= _SHORT
        },
        "events": [vars(event) for event in run.events],
        "member_status": run.member_status,
        "member_stopped_at": run.member_stopped_at,
        "facts": dict(run.facts),
        "engine_report": None if run.engine_report is None else vars(run.engine_report),
    }


def restored(result: Mapping[str, Any], arrays: Mapping[str, Tensor], dtype: torch.dtype) -> Run:
    """The run of a result and its arrays; half-precision points are stored wider."""
    left = dict(arrays)
    times, points, error = left.pop("time"), left.pop("points"), left.pop("error")
    report = result.get("engine_report")
    return Run(
        times=times,
        points=points.to(dtype),
        point_times=left.pop("point_time", times),
        log_weights=left.pop("log_weights"),
        positions=left.pop("positions", None),
        status=result["status"],
        message=result["message"],
        stopped_at=float(result["stopped_at"]),
        observables=left,
        events=tuple(
            EventRecord(event["name"], float(event["time"]), tuple(event["member"]))
            for event in result["events"]
        ),
        error=None if bool(error.isnan().all()) else error,
        steps=result["steps"],
        rejected=result["rejected"],
        evaluations=result["evaluations"],
        facts=result["facts"],
        member_status=tuple(result["member_status"]),
        member_stopped_at=tuple(float(t) for t in result["member_stopped_at"]),
        engine_report=None if report is None else EngineReport(**report),
    )


def provenance_of(config: Mapping[str, Any]) -> dict[str, Any]:
    """Versions, machine and settings that a number depends on; no paths, no user."""
    from vlasov import __version__  # the package is complete only once this module is

    return {
        "experiment": "simulate",
        "vlasov": __version__,
        "python": platform.python_version(),
        "torch": torch.__version__,
        "numpy": np.__version__,
        "platform": f"{sys.platform}-{platform.machine()}",
        "threads": torch.get_num_threads(),
        "seed": config.get("seed"),
        "dtype": config.get("dtype"),
        "device": config.get("device"),
        "engine": config.get("engine"),
        "started": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "wall_seconds": 0.0,
        "resumed": 0,
    }
