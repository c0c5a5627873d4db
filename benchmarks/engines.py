"""Softmax attention in the plane, fp64: the library beside torch, a stored matrix and KeOps.

    python benchmarks/engines.py --n 10000 100000 --threads 2

Seconds are medians. A ratio is the median over the repetitions of (peer / `vlasov velocity`) in
one repetition; the order of peers rotates, so that a slow drift of the machine cancels. Memory is
the peak above the inputs in a process of its own. The error is the largest over the first rows,
against the definition.
"""

__all__ = ["main"]

import argparse
import re
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import torch
from machine import describe
from peers import PEERS, Peer, reference
from torch import Tensor

BASELINE = "vlasov velocity"
CHECKED_ROWS = 500
WARM_UP = 2_000


@dataclass(frozen=True)
class Row:
    """One line of the table."""

    name: str
    seconds: float
    ratio: float
    error: float
    megabytes: float
    share: float

    def text(self, n: int) -> str:
        """The line as printed."""
        note = "" if self.share == 1 else f"  (scaled from {self.share:.0%} of the rows)"
        return (
            f"{self.name:<20}{self.seconds:>10.3f}{n * n / self.seconds / 1e9:>10.2f}"
            f"{self.ratio:>10.2f}{self.error:>12.1e}{self.megabytes:>10.0f}{note}"
        )


def tokens(n: int) -> Tensor:
    """Standard Gaussian tokens in the plane."""
    return torch.randn(n, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(0))


def seconds(peer: Peer, x: Tensor) -> float:
    """One timed call, scaled to all rows."""
    start = time.perf_counter()
    peer.field(x)
    return (time.perf_counter() - start) / peer.share(len(x))


def repetitions(peers: list[Peer], x: Tensor, repeats: int) -> list[dict[str, float]]:
    """Seconds by name for every repetition; the order of peers rotates."""
    for peer in peers:
        peer.field(x[:WARM_UP])
    rows = []
    for turn in range(repeats):
        order = peers[turn % len(peers) :] + peers[: turn % len(peers)]
        rows.append({peer.name: seconds(peer, x) for peer in order})
    return rows


def error(peer: Peer, x: Tensor) -> float:
    """The largest difference from the definition over the first rows."""
    return (peer.field(x)[:CHECKED_ROWS] - reference(x, CHECKED_ROWS)).abs().max().item()


def peak_megabytes() -> float:
    """The largest memory this process has held since its peak was last reset."""
    status = Path("/proc/self/status").read_text()
    return int(re.findall(r"VmHWM:\s+(\d+) kB", status)[0]) / 1024


def print_memory(name: str, n: int) -> None:
    """Print the peak of one call above what was held before it; runs in a process of its own."""
    peer, x = PEERS[name], tokens(n)
    peer.field(x[:WARM_UP])
    Path("/proc/self/clear_refs").write_text("5")  # sets the peak to what is held now
    before = peak_megabytes()
    peer.field(x)
    print(peak_megabytes() - before)


def memory(peer: Peer, n: int, threads: int) -> float:
    """Megabytes of one call in a new process; not a number where the system does not tell."""
    if not Path("/proc/self/clear_refs").exists():
        return float("nan")
    options = ["--memory-of", peer.name, "--n", str(n), "--threads", str(threads)]
    command = [sys.executable, __file__, *options]
    return float(
        subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()[-1]
    )


def table(n: int, *, repeats: int, threads: int) -> list[Row]:
    """Measure every peer at hand for one number of tokens."""
    peers, x = [peer for peer in PEERS.values() if peer.available], tokens(n)
    times = repetitions(peers, x, repeats)
    return [
        Row(
            name=peer.name,
            seconds=statistics.median(row[peer.name] for row in times),
            ratio=statistics.median(row[peer.name] / row[BASELINE] for row in times),
            error=error(peer, x),
            megabytes=memory(peer, n, threads),
            share=peer.share(n),
        )
        for peer in peers
    ]


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--n", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--memory-of", choices=PEERS)
    return parser.parse_args()


def main() -> None:
    """Print one table for each number of tokens."""
    given = arguments()
    torch.set_num_threads(given.threads)
    if given.memory_of:
        return print_memory(given.memory_of, given.n[0])
    print(describe())
    for peer in PEERS.values():
        if not peer.available:
            print(f"{peer.name} is not installed and left out.")
    for n in given.n:
        print(f"\nn = {n:,}, d = 2, fp64, median of {given.repeats}")
        print(f"{'':<20}{'seconds':>10}{'Gpair/s':>10}{'ratio':>10}{'error':>12}{'MB':>10}")
        for row in table(n, repeats=given.repeats, threads=given.threads):
            print(row.text(n), flush=True)
    return None


if __name__ == "__main__":
    main()
