"""One field of self-attention: the library beside torch, row blocks, a stored matrix and KeOps.

    python benchmarks/engines.py --n 10000 100000 --d 2 8 --threads 2
    python benchmarks/engines.py --attention sigmoid --dtype float32

Seconds are medians. A ratio is the median over the repetitions of (torch / peer) in one
repetition, where torch is its scaled_dot_product_attention, for the sigmoid its row blocks; the
order of peers rotates, so that a slow drift of the machine cancels. Memory is the peak above the
inputs in a process of its own. The error is the largest over the first rows, against the
definition in float64. Quadratic peers are timed on some of the queries and scaled where all would
take long. The limit is the rate that counting instructions of AVX-512 allows (spec, engines page).
With --cpu seconds are those of the processor, over all threads: where other work shares it.
"""

__all__ = ["main", "peak_megabytes", "reset_peak"]

import argparse
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch
from machine import describe
from peers import ATTENTIONS, Peer, baseline, peer_seconds, peers, reference
from torch import Tensor

Clock = Callable[[], float]

CHECKED_ROWS = 500
WARM_UP = 2_000
LIMITS = {("float64", 2): 3.45, ("float32", 2): 8.0, ("float64", 8): 1.9}
"""Gpair/s a core of a softmax."""
_CLEAR = Path("/proc/self/clear_refs")


@dataclass(frozen=True)
class Case:
    """What is computed."""

    attention: str
    n: int
    d: int
    dtype: str

    def tokens(self) -> Tensor:
        """Standard Gaussian tokens."""
        generator = torch.Generator().manual_seed(0)
        return torch.randn(self.n, self.d, dtype=torch.float64, generator=generator).to(
            getattr(torch, self.dtype)
        )


@dataclass(frozen=True)
class Row:
    """One line of the table."""

    name: str
    seconds: float
    ratio: float
    error: float
    megabytes: float
    share: float

    def text(self, case: Case, cores: int) -> str:
        """The line as printed."""
        rate = case.n**2 / self.seconds / 1e9
        note = "" if self.share == 1 else f"  scaled from {self.share:.1%} of the queries"
        limit = LIMITS.get((case.dtype, case.d)) if case.attention == "softmax" else None
        if limit and self.name == "vlasov direct":
            note += f"  {rate / limit / cores:.0%} of the instruction limit"
        return (
            f"{self.name:<22}{self.seconds:>10.3f}{rate:>10.2f}"
            f"{self.ratio:>10.2f}{self.error:>10.1e}{self.megabytes:>8.0f}{note}"
        )


def repetitions(
    found: list[Peer], x: Tensor, repeats: int, clock: Clock
) -> list[dict[str, float]]:
    """Seconds by name for every repetition; the order of peers rotates."""
    for peer in found:
        peer.field(x[:WARM_UP], x[:WARM_UP])
    rows = []
    for turn in range(repeats):
        order = found[turn % len(found) :] + found[: turn % len(found)]
        rows.append({peer.name: peer_seconds(peer, x, clock) for peer in order})
    return rows


def error(peer: Peer, attention: str, x: Tensor) -> float:
    """The largest difference from the definition over the first rows."""
    rows = min(CHECKED_ROWS, peer.queries(len(x)))
    found = peer.field(x[: peer.queries(len(x))], x)[:rows]
    return (found - reference(attention, x[:rows], x)).abs().max().item()


def reset_peak() -> None:
    """Count the peak of memory from what is held now, where the system can."""
    if _CLEAR.exists():
        _CLEAR.write_text("5")


def peak_megabytes() -> float:
    """The largest memory this process has held since `reset_peak`; else not a number."""
    if not _CLEAR.exists():
        return float("nan")
    status = Path("/proc/self/status").read_text()
    return int(re.findall(r"VmHWM:\s+(\d+) kB", status)[0]) / 1024


def print_memory(peer: Peer, x: Tensor) -> None:
    """Print the peak of one call above what was held before it; runs in a process of its own."""
    peer.field(x[:WARM_UP], x[:WARM_UP])
    reset_peak()
    before = peak_megabytes()
    peer.field(x[: peer.queries(len(x))], x)
    print(peak_megabytes() - before)


def memory(peer: Peer, case: Case, threads: int) -> float:
    """Megabytes of one call in a new process."""
    options = ["--memory-of", peer.name, "--attention", case.attention, "--dtype", case.dtype]
    options += ["--n", str(case.n), "--d", str(case.d), "--threads", str(threads)]
    command = [sys.executable, __file__, *options]
    return float(
        subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()[-1]
    )


def table(case: Case, *, repeats: int, threads: int, clock: Clock) -> list[Row]:
    """Measure every peer at hand."""
    found, x = peers(case.attention, case.d), case.tokens()
    times, torch_name = repetitions(found, x, repeats, clock), baseline(case.attention)
    return [
        Row(
            name=peer.name,
            seconds=statistics.median(row[peer.name] for row in times),
            ratio=statistics.median(row[torch_name] / row[peer.name] for row in times),
            error=error(peer, case.attention, x),
            megabytes=memory(peer, case, threads),
            share=peer.queries(case.n) / case.n,
        )
        for peer in found
    ]


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--n", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--d", type=int, nargs="+", default=[2])
    parser.add_argument("--dtype", choices=["float64", "float32"], default="float64")
    parser.add_argument("--attention", choices=ATTENTIONS, default="softmax")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--cpu", action="store_true")
    parser.add_argument("--memory-of", help=argparse.SUPPRESS)
    return parser.parse_args()


def main() -> None:
    """Print one table for each width and number of tokens."""
    given = arguments()
    torch.set_num_threads(given.threads)
    cases = [Case(given.attention, n, d, given.dtype) for d in given.d for n in given.n]
    if given.memory_of:
        (case,) = cases
        chosen = {peer.name: peer for peer in peers(case.attention, case.d)}
        return print_memory(chosen[given.memory_of], case.tokens())
    clock, cores = (time.process_time, 1) if given.cpu else (time.perf_counter, given.threads)
    print(describe())
    for case in cases:
        print(f"\n{case.attention}, n = {case.n:,}, d = {case.d}, {case.dtype}")
        print(f"{'':<22}{'seconds':>10}{'Gpair/s':>10}{'ratio':>10}{'error':>10}{'MB':>8}")
        rows = table(case, repeats=given.repeats, threads=given.threads, clock=clock)
        print("\n".join(row.text(case, cores) for row in rows), flush=True)
    return None


if __name__ == "__main__":
    main()
