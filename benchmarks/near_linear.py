"""The certified engine beside torch's kernel: seconds, ratio, error and bound by cloud and radius.

    python benchmarks/near_linear.py --n 100000 1000000 --d 2 --tolerance 1e-6 --threads 2

R is the largest |q||k|. Torch's kernel is timed on a slice of the queries and scaled; the error is
against the direct sum of some queries. Seconds of the engine are medians, trees included.
"""

__all__ = ["main"]

import argparse
import statistics

import torch
from machine import describe
from peers import kernel_seconds, seconds
from torch import Tensor

from vlasov.engines import Direct, Tree
from vlasov.engines.engine_report import collecting
from vlasov.experiments.bench_clouds import CLOUDS, bench_cloud

CHECKED = 200


def line(kind: str, x: Tensor, radius: float, tolerance: float, repeats: int) -> str:
    """One row of the table."""
    engine, flat = Tree(tolerance), torch.zeros(1, len(x), dtype=torch.float64)
    with collecting() as reports:
        found = engine.average(x[None], x[None], x[None], flat)[0]
    spent = statistics.median(
        seconds(lambda: engine.average(x[None], x[None], x[None], flat)) for _ in range(repeats)
    )
    rows = torch.linspace(0, len(x) - 1, CHECKED).long()
    wanted = Direct().average(x[None, rows], x[None], x[None], flat)[0]
    error = float((found[rows] - wanted).norm(dim=1).max())
    (report,) = reports
    shares = f"{report.pruned:.2f} {report.expanded:.2f} {report.direct:.2f}"
    return (
        f"{kind:<10}{radius:>6.0f}{spent:>9.3f}{kernel_seconds(x) / spent:>9.0f}"
        f"{error:>10.1e}{report.bound:>10.1e}   {shares}"
    )


def main() -> None:
    """Print one table for each number of tokens."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--n", type=int, nargs="+", default=[100_000])
    parser.add_argument("--d", type=int, default=2)
    parser.add_argument("--radius", type=float, nargs="+", default=[1.0, 4.0, 50.0, 200.0])
    parser.add_argument("--clouds", nargs="+", choices=CLOUDS, default=list(CLOUDS))
    parser.add_argument("--tolerance", type=float, default=1e-6)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    print(describe())
    for n in given.n:
        print(f"\nn = {n:,}, d = {given.d}, tolerance {given.tolerance:g}")
        print(
            f"{'cloud':<10}{'R':>6}{'seconds':>9}{'x torch':>9}{'error':>10}{'bound':>10}   shares"
        )
        for kind in given.clouds:
            for radius in given.radius:
                x = bench_cloud(kind, n, given.d, radius)
                print(line(kind, x, radius, given.tolerance, given.repeats), flush=True)


if __name__ == "__main__":
    main()
