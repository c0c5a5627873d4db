"""Simulations written to a run folder by hand, frame by frame."""

from pathlib import Path

from vlasov.cloud import Cloud
from vlasov.experiments.folder_store import RunFolder
from vlasov.experiments.monitor import FolderMonitor


def started(path: Path, cloud: Cloud, **options: object) -> FolderMonitor:
    folder = RunFolder.create(path)

    def start() -> None:
        folder.begin({"n": cloud.n}, {"dtype": str(cloud.points.dtype)[6:], "wall_seconds": 0.0})

    return FolderMonitor(folder, cloud, start=start, **options)


def tell(monitor: FolderMonitor, cloud: Cloud, steps: range) -> None:
    """A simulation that doubles the points in each unit of time."""
    for k in steps:
        x = cloud.points * 2.0**k
        monitor.frame(float(k), x, {"mean": x.mean(-2)}, 0.5 * k)
        monitor.checkpoint({"t": float(k), "x": x})
