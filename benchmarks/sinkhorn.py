"""Sinkhorn attention by trees beside a log-domain solver over row blocks.

    python benchmarks/sinkhorn.py --n 100000 --d 2 --tolerance 1e-8 --threads 2

The peer takes torch.logsumexp over blocks of 2^18 scores; it is timed on a slice of the rows and
scaled to all rows and to the same number of half-sweeps. One table row solves for symmetric
scores, the other for a matrix that is not symmetric, where rows and columns alternate. Seconds
include the trees and the average at the end. The marginal error is of some columns of the plan,
by direct sums.
"""

__all__ = ["main"]

import argparse
import math
import time

import torch
from machine import describe
from torch import Tensor

from vlasov.attention import Sinkhorn
from vlasov.engines import Direct, Tree
from vlasov.engines.engine_report import collecting
from vlasov.experiments.bench_clouds import bench_cloud

BLOCK = 2**18
SLICE = 500_000_000
"""Scores of the slice on which the peer is timed."""
COLUMNS = 200


def operands(kind: str, n: int, d: int, radius: float) -> tuple[Tensor, Tensor]:
    """Queries and keys of one head; the largest squared norm of a token is `radius`."""
    g = torch.Generator().manual_seed(0)
    x = bench_cloud("gaussian", n, d, radius)
    score = torch.eye(d, dtype=torch.float64)
    if kind == "general":
        score = score + 0.5 * torch.randn(d, d, generator=g, dtype=torch.float64)
    return (x @ score)[None], x[None]


def peer_seconds(q: Tensor, k: Tensor) -> float:
    """One half-step of the log-domain solver, scaled from a slice of the rows."""
    n = k.shape[-2]
    step, rows = max(1, BLOCK // n), min(n, max(1, SLICE // n))
    potential = torch.zeros(n, dtype=torch.float64)
    start = time.perf_counter()
    for low in range(0, rows, step):
        (q[0, low : low + step] @ k[0].mT + potential).logsumexp(-1)
    return (time.perf_counter() - start) * n / rows


def columns_off(q: Tensor, k: Tensor, f: Tensor, g: Tensor, log_w: Tensor) -> float:
    """The largest distance from one of some column sums of the plan."""
    some = torch.linspace(0, k.shape[-2] - 1, COLUMNS).long()
    return float((Direct().log_sum(k[:, some], q, f + log_w) + g[:, some]).expm1().abs().max())


def line(kind: str, n: int, d: int, radius: float, tolerance: float) -> str:
    """One row of the table."""
    q, k = operands(kind, n, d, radius)
    log_w = torch.full((1, n), -math.log(n), dtype=torch.float64)
    attention, engine = Sinkhorn(tolerance=tolerance), Tree(tolerance)
    attention.average(q[:, :3000], k[:, :3000], k[:, :3000], log_w[:, :3000], engine)
    start = time.perf_counter()
    with collecting() as reports:
        attention.average(q, k, k, log_w, engine)
    spent = time.perf_counter() - start
    halves = reports[0].sums - 1
    f, g = attention.potentials(q, k, log_w, engine)
    peer = (halves + 1) * peer_seconds(q, k)
    off = columns_off(q, k, f, g, log_w)
    return f"{kind:<12}{radius:>6.0f}{halves:>8}{spent:>10.3f}{peer / spent:>9.0f}{off:>12.1e}"


def main() -> None:
    """Print one table for each number of tokens."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--n", type=int, nargs="+", default=[100_000])
    parser.add_argument("--d", type=int, default=2)
    parser.add_argument("--radius", type=float, nargs="+", default=[4.0, 20.0])
    parser.add_argument("--tolerance", type=float, default=1e-8)
    parser.add_argument("--threads", type=int, default=2)
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    print(describe())
    for n in given.n:
        print(f"\nn = {n:,}, d = {given.d}, marginal within {given.tolerance:g}")
        print(f"{'scores':<12}{'R':>6}{'halves':>8}{'seconds':>10}{'x peer':>9}{'column off':>12}")
        for kind in ("symmetric", "general"):
            for radius in given.radius:
                print(line(kind, n, given.d, radius, given.tolerance), flush=True)


if __name__ == "__main__":
    main()
