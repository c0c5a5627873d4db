"""Exact distances between clouds, fp64: the library beside POT called by hand and two sorts.

    OMP_NUM_THREADS=1 python benchmarks/distances.py --n 5000 10000 --repeats 3

Three tables. The certified optimum in the plane beside `ot.emd2`, each with its matrix of costs;
the line beside two sorts; and what W_2 of two samples reads in high dimension beside a figure of
their moments. Seconds are CPU seconds, medians; ratios are medians over repetitions of (library /
peer) in one repetition, whose order alternates. Memory is the peak above the inputs in a process
of its own.
"""

__all__ = ["main"]

import argparse
import math
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import ot
import torch
from machine import describe

import vlasov as vl
from vlasov.transport import gelbrich

NO_CAP = 10**12
TRUTH = 4.0
Call = Callable[[vl.Cloud, vl.Cloud], float]


def library(a: vl.Cloud, b: vl.Cloud) -> float:
    """W_2 of the library, squared."""
    return vl.wasserstein(a, b).item() ** 2


def by_hand(a: vl.Cloud, b: vl.Cloud) -> float:
    """POT's network simplex without a check; its default cap of pivots is too low here."""
    cost = ot.dist(a.points.numpy(), b.points.numpy())
    return float(ot.emd2([], [], cost, numItermax=NO_CAP))


def two_sorts(a: vl.Cloud, b: vl.Cloud) -> float:
    """Both sides sorted, and nothing else."""
    np.sort(a.points[:, 0].numpy())
    np.sort(b.points[:, 0].numpy())
    return math.nan


PEERS: dict[str, Call] = {"library": library, "emd2 by hand": by_hand, "two sorts": two_sorts}


def pair(n: int, d: int) -> tuple[vl.Cloud, vl.Cloud]:
    """Two samples of N(0, I) and N(m, I) with |m|^2 = 4."""
    mean = torch.zeros(d, dtype=torch.float64)
    mean[0] = math.sqrt(TRUTH)
    return vl.Cloud.gaussian(n, d=d, seed=0), vl.Cloud.gaussian(n, mean, d=d, seed=1)


def compare(names: list[str], clouds: tuple[vl.Cloud, vl.Cloud], repeats: int) -> None:
    """Print seconds, ratio and value for each of the two peers."""
    rows: list[dict[str, float]] = []
    values: dict[str, float] = {}
    few = tuple(vl.Cloud(cloud.points[:50]) for cloud in clouds)
    for name in names:
        PEERS[name](*few)
    for turn in range(repeats):
        times: dict[str, float] = {}
        for name in names if turn % 2 else names[::-1]:
            start = time.process_time()
            values[name] = PEERS[name](*clouds)
            times[name] = time.process_time() - start
        rows.append(times)
    for name in names:
        seconds = statistics.median(row[name] for row in rows)
        ratio = statistics.median(row["library"] / row[name] for row in rows)
        print(f"{name:<16}{seconds:>10.3f}{ratio:>18.2f}{values[name]:>20.12f}", flush=True)


def peak_megabytes() -> float:
    """The largest memory this process has held since its peak was last reset."""
    status = Path("/proc/self/status").read_text()
    return int(re.findall(r"VmHWM:\s+(\d+) kB", status)[0]) / 1024


def print_memory(name: str, n: int, d: int) -> None:
    """Print the peak of one call above what was held before it."""
    clouds = pair(n, d)
    PEERS[name](*pair(50, d))
    Path("/proc/self/clear_refs").write_text("5")  # sets the peak to what is held now
    before = peak_megabytes()
    PEERS[name](*clouds)
    print(peak_megabytes() - before)


def memory(name: str, n: int, d: int) -> float:
    """Megabytes of one call in a new process."""
    options = ["--memory-of", name, "--n", str(n), "--d", str(d)]
    command = [sys.executable, __file__, *options]
    found = subprocess.run(command, capture_output=True, text=True, check=True)
    return float(found.stdout.split()[-1])


def plane(n: int, repeats: int) -> None:
    """The certified optimum in d = 2 beside POT by hand, and what fits."""
    print(f"\nW_2 in the plane, n = {n:,}, median of {repeats}")
    print(f"{'':<16}{'seconds':>10}{'library / this':>18}{'W_2^2':>20}")
    names = ["library", "emd2 by hand"]
    compare(names, pair(n, 2), repeats)
    for name in names:
        megabytes = memory(name, n, 2)
        each = megabytes * 2**20 / n**2
        fits = math.isqrt(int(20 * 2**30 / each))
        print(
            f"{name:<16}{megabytes:>10.0f} MB, {each:.1f} bytes a pair: 20 GiB hold n = {fits:,}"
        )


def line(n: int, repeats: int) -> None:
    """The line beside two sorts."""
    print(f"\nW_2 on the line, n = {n:,}, median of {repeats}")
    print(f"{'':<16}{'seconds':>10}{'library / this':>18}{'W_2^2':>20}")
    compare(["library", "two sorts"], pair(n, 1), repeats)
    print(f"{'library':<16}{memory('library', n, 1):>10.0f} MB")


def bias(d: int, ns: tuple[int, ...]) -> None:
    """What two samples read where the truth is 4."""
    print(f"\nTwo samples in d = {d} of laws with W_2^2 = {TRUTH:g}")
    print(f"{'n':<16}{'W_2^2 of samples':>20}{'of their moments':>20}")
    for n in ns:
        a, b = pair(n, d)
        print(f"{n:<16,}{library(a, b):>20.3f}{gelbrich(a, b).power.item():>20.3f}", flush=True)


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--n", type=int, nargs="+", default=[5_000, 10_000])
    parser.add_argument("--line", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--d", type=int, default=2, help="width of the clouds of --memory-of")
    parser.add_argument("--memory-of", choices=PEERS)
    return parser.parse_args()


def main() -> None:
    """Print the three tables."""
    given = arguments()
    torch.set_num_threads(given.threads)
    if given.memory_of:
        return print_memory(given.memory_of, given.n[0], given.d)
    print(describe())
    line(given.line, max(given.repeats, 5))
    bias(16, (500, 1_000, 2_000))
    for n in given.n:
        plane(n, given.repeats)
    return None


if __name__ == "__main__":
    main()
