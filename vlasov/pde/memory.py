"""Whether a sum over the cloud fits in memory, asked before it is started."""

__all__ = ["available_memory", "require_memory"]

import math
from pathlib import Path

import torch

from vlasov.cloud import Cloud
from vlasov.engines import ENGINES, Engine, Visibility
from vlasov.errors import TooLittleMemory


def available_memory(device: torch.device) -> int | None:
    """Free bytes on a device, or None where the system does not say."""
    if device.type == "cuda":
        return torch.cuda.mem_get_info(device)[0]
    meminfo = Path("/proc/meminfo")
    if device.type != "cpu" or not meminfo.exists():
        return None
    lines = dict(line.split(":", 1) for line in meminfo.read_text().splitlines() if ":" in line)
    return int(lines["MemAvailable"].split()[0]) * 1024 if "MemAvailable" in lines else None


def require_memory(
    engine: Engine, cloud: Cloud, *, heads: int, mask: Visibility | None = None
) -> None:
    """Refuse a sum that would not fit.

    Raises:
        TooLittleMemory: with the need, what is free, and an engine that fits.
    """
    members = math.prod(cloud.batch_shape)
    size = {
        "queries": members * heads * cloud.n,
        "keys": cloud.n,
        "width": cloud.d,
        "itemsize": max(cloud.points.element_size(), 4),
    }
    free = available_memory(cloud.points.device)
    need = engine.memory(**size, mask=mask)
    if free is None or need <= free:
        return
    fitting = [name for name in ENGINES if ENGINES[name]().memory(**size, mask=mask) <= free]
    remedy = f"use engine='{fitting[0]}'" if fitting else "use fewer tokens"
    raise TooLittleMemory(
        f"Engine '{engine.name}' needs {need / 1e9:.3g} GB for {cloud.n} tokens but "
        f"{free / 1e9:.3g} GB are free; {remedy}."
    )
