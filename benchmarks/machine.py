"""Where and on what a benchmark ran: the first lines of every table."""

__all__ = ["describe"]

import platform
import subprocess
from pathlib import Path

import torch


def describe() -> str:
    """Processor, threads, versions and commit."""
    return (
        f"{_processor()}, {torch.get_num_threads()} threads; {platform.system()}, "
        f"Python {platform.python_version()}, torch {torch.__version__}; commit {_commit()}"
    )


def _processor() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text().splitlines() if cpuinfo.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def _commit() -> str:
    command = ["git", "describe", "--always", "--dirty"]
    here = Path(__file__).parent
    found = subprocess.run(command, capture_output=True, text=True, cwd=here, check=False)
    return found.stdout.strip() or "unknown"
