"""The certified engine in causal order beside torch's causal kernel.

    python benchmarks/causal.py --n 100000 --d 2 --tolerance 1e-6 --threads 2

R is the largest |q||k|. Torch's kernel is timed on the first tokens and scaled by the number of
pairs. The error is against direct sums of some queries. Each is timed three times, and the least
taken. With ``--cpu`` these are seconds of processors, for a machine that others use too.
"""

__all__ = ["main"]

import argparse
import time
from collections.abc import Callable

import torch
from machine import describe
from peers import seconds
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from vlasov.attention.masks import Causal
from vlasov.engines import Direct, Tree
from vlasov.engines.engine_report import collecting
from vlasov.experiments.bench_clouds import CLOUDS, bench_cloud

SLICE = 30_000
"""Tokens on which torch's kernel is timed."""
CHECKED, TIMES = 50, 3
Clock = Callable[[], float]


def torch_seconds(x: Tensor, clock: Clock) -> float:
    """Torch's causal kernel on the first tokens, scaled to the pairs of all."""
    some = x[None, None, :SLICE]

    def work() -> Tensor:
        return scaled_dot_product_attention(some, some, some, is_causal=True, scale=1.0)

    return least(work, clock) * (len(x) / some.shape[-2]) ** 2


def least(work: Callable[[], object], clock: Clock) -> float:
    """Seconds of the fastest of some calls."""
    return min(seconds(work, clock) for _ in range(TIMES))


def error(x: Tensor, found: Tensor) -> float:
    """The largest distance of some averages from direct ones."""
    worst = 0.0
    for i in torch.linspace(0, len(x) - 1, CHECKED).long().tolist():
        seen = x[None, : i + 1]
        wanted = Direct().average(x[None, i : i + 1], seen, seen, torch.zeros(1, i + 1).to(x))
        worst = max(worst, float((found[i] - wanted[0, 0]).norm()))
    return worst


def line(kind: str, x: Tensor, radius: float, tolerance: float, clock: Clock) -> str:
    """One row of the table."""
    positions = torch.arange(len(x)).to(x)[None]
    mask, flat = Causal().bind(positions, positions), torch.zeros(1, len(x)).to(x)

    def work() -> Tensor:
        return Tree(tolerance).average(x[None], x[None], x[None], flat, mask=mask)[0]

    with collecting() as reports:
        found, spent = work(), least(work, clock)
    return (
        f"{kind:<10}{radius:>6.0f}{spent:>9.3f}{torch_seconds(x, clock) / spent:>9.0f}"
        f"{error(x, found):>10.1e}{reports[0].bound:>10.1e}"
    )


def main() -> None:
    """Print one table for each number of tokens."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--n", type=int, nargs="+", default=[100_000])
    parser.add_argument("--d", type=int, default=2)
    parser.add_argument("--radius", type=float, nargs="+", default=[1.0, 4.0, 50.0])
    parser.add_argument("--clouds", nargs="+", choices=CLOUDS, default=list(CLOUDS))
    parser.add_argument("--tolerance", type=float, default=1e-6)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--cpu", action="store_true")
    given = parser.parse_args()
    clock = time.process_time if given.cpu else time.perf_counter
    torch.set_num_threads(given.threads)
    print(describe())
    line(
        "ball", bench_cloud("ball", 20_000, given.d, 50.0), 50.0, given.tolerance, clock
    )  # compiles
    for n in given.n:
        print(f"\nn = {n:,}, d = {given.d}, tolerance {given.tolerance:g}")
        print(f"{'cloud':<10}{'R':>6}{'seconds':>9}{'x torch':>9}{'error':>10}{'bound':>10}")
        for kind in given.clouds:
            for radius in given.radius:
                x = bench_cloud(kind, n, given.d, radius)
                print(line(kind, x, radius, given.tolerance, clock), flush=True)


if __name__ == "__main__":
    main()
