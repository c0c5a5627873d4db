"""The certified engine beside quadratic peers: seconds, ratios, error, bound by cloud and radius.

    python benchmarks/near_linear.py --n 100000 1000000 --d 2 --tolerance 1e-6 --threads 2
    OMP_NUM_THREADS=1 python benchmarks/near_linear.py --peers torch keops --threads 1 --cpu

R is the largest |q||k|. A peer is timed on a slice of the queries against all tokens and scaled;
the error is against the direct sum of some queries. Seconds of the engine are medians, trees
included; with --cpu they and those of the peers are the processor's. MB is the peak of the whole
process during one call of the engine, imports and tokens included. KeOps takes its threads from
OMP_NUM_THREADS.
"""

__all__ = ["main"]

import argparse
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

import torch
from engines import peak_megabytes, reset_peak
from machine import describe
from peers import Peer, peer_seconds, peers, seconds
from torch import Tensor

from vlasov.engines import Direct, Tree
from vlasov.engines.engine_report import collecting
from vlasov.experiments.bench_clouds import CLOUDS, bench_cloud

CHECKED = 200
WARM_UP = 200
PEERS = {"torch": "torch SDPA", "keops": "KeOps"}


@dataclass(frozen=True)
class Settings:
    """What every row has in common."""

    tolerance: float
    repeats: int
    beside: tuple[Peer, ...]
    clock: Callable[[], float]

    def header(self) -> str:
        """The names of the columns."""
        ratios = "".join(f"{'x ' + peer.name.split()[0]:>9}" for peer in self.beside)
        return f"{'cloud':<10}{'R':>6}{'seconds':>9}{ratios}{'error':>10}{'bound':>10}{'MB':>7}"

    def warm_up(self, d: int) -> None:
        """Compile what the peers compile."""
        x = bench_cloud("ball", WARM_UP, d, 1.0)
        for peer in self.beside:
            peer.field(x, x)

    def line(self, kind: str, x: Tensor, radius: float) -> str:
        """One row of the table."""
        engine, flat = Tree(self.tolerance), torch.zeros(1, len(x), dtype=torch.float64)
        reset_peak()
        with collecting() as reports:
            found = engine.average(x[None], x[None], x[None], flat)[0]
        held = peak_megabytes()
        spent = statistics.median(
            seconds(lambda: engine.average(x[None], x[None], x[None], flat), self.clock)
            for _ in range(self.repeats)
        )
        rows = torch.linspace(0, len(x) - 1, CHECKED).long()
        wanted = Direct().average(x[None, rows], x[None], x[None], flat)[0]
        error = float((found[rows] - wanted).norm(dim=1).max())
        ratios = "".join(
            f"{peer_seconds(peer, x, self.clock) / spent:>9.0f}" for peer in self.beside
        )
        (report,) = reports
        return (
            f"{kind:<10}{radius:>6.0f}{spent:>9.3f}{ratios}{error:>10.1e}{report.bound:>10.1e}"
            f"{held:>7.0f}   {report.pruned:.2f} {report.expanded:.2f} {report.direct:.2f}"
        )


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--n", type=int, nargs="+", default=[100_000])
    parser.add_argument("--d", type=int, default=2)
    parser.add_argument("--radius", type=float, nargs="+", default=[1.0, 4.0, 50.0, 200.0])
    parser.add_argument("--clouds", nargs="+", choices=CLOUDS, default=list(CLOUDS))
    parser.add_argument("--peers", nargs="+", choices=PEERS, default=["torch"])
    parser.add_argument("--tolerance", type=float, default=1e-6)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--cpu", action="store_true")
    return parser.parse_args()


def main() -> None:
    """Print one table for each number of tokens."""
    given = arguments()
    torch.set_num_threads(given.threads)
    at_hand = {peer.name: peer for peer in peers("softmax", given.d)}
    if missing := [name for name in given.peers if PEERS[name] not in at_hand]:
        raise SystemExit(
            f"Not installed: {', '.join(missing)}. `pip install pykeops` installs it."
        )
    beside = tuple(at_hand[PEERS[name]] for name in given.peers)
    clock = time.process_time if given.cpu else time.perf_counter
    settings = Settings(given.tolerance, given.repeats, beside, clock)
    settings.warm_up(given.d)
    print(describe())
    for n in given.n:
        print(f"\nn = {n:,}, d = {given.d}, tolerance {given.tolerance:g}")
        print(f"{settings.header()}   pruned, expanded, direct")
        for kind in given.clouds:
            for radius in given.radius:
                x = bench_cloud(kind, n, given.d, radius)
                print(settings.line(kind, x, radius), flush=True)


if __name__ == "__main__":
    main()
