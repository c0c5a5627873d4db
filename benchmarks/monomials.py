"""The monomial engine beside torch's kernel and the trees: CPU seconds, ratio, error and bound.

    python benchmarks/monomials.py --n 100000 --d 4 8 --tolerance 1e-3 1e-6 --threads 1

R is the largest |q||k| of a ball filled uniformly. Torch's kernel is timed on a slice of the
queries and scaled; the error is against the dense sum of some queries. `--tree` times the trees
too. All times are CPU seconds of one run.
"""

__all__ = ["main"]

import argparse
import time

import torch
from machine import describe
from peers import kernel_seconds, seconds
from torch import Tensor

from vlasov.engines import Dense, Engine, Monomials
from vlasov.engines.engine_report import collecting
from vlasov.engines.tree import Tree
from vlasov.errors import EngineUnsupported
from vlasov.experiments.bench_clouds import bench_cloud

CHECKED = 200
SLICE = 100_000_000
"""Pairs of the slice on which torch's kernel is timed."""


def average(engine: Engine, x: Tensor) -> Tensor:
    """The softmax average of tokens that see each other."""
    return engine.average(x[None], x[None], x[None], x.new_zeros(1, len(x)))[0]


def measured(engine: Engine, x: Tensor, repeats: int) -> tuple[float, float, float] | None:
    """Smallest CPU seconds, largest error of some queries and bound; None if refused."""
    try:
        with collecting() as reports:
            found = average(engine, x)
    except EngineUnsupported:
        return None
    spent = min(seconds(lambda: average(engine, x), time.process_time) for _ in range(repeats))
    rows = torch.linspace(0, len(x) - 1, CHECKED).long()
    wanted = Dense().average(x[None, rows], x[None], x[None], x.new_zeros(1, len(x)))[0]
    return spent, float((found[rows] - wanted).norm(dim=1).max()), reports[0].bound


def line(x: Tensor, radius: float, tolerance: float, *, tree: bool, repeats: int) -> str:
    """One row of the table."""
    start = f"{x.shape[1]:>3}{radius:>7.2f}{tolerance:>9.0e}"
    torch_spent = kernel_seconds(x, SLICE, time.process_time)
    found = measured(Monomials(tolerance), x, repeats)
    if found is None:
        start += f"{'refused':>9}{'-':>9}{'-':>10}{'-':>10}"
    else:
        spent, error, bound = found
        start += f"{spent:>9.3f}{torch_spent / spent:>9.0f}{error:>10.1e}{bound:>10.1e}"
    other = measured(Tree(tolerance), x, 1) if tree else None
    return start if other is None else f"{start}{other[0]:>9.3f}{torch_spent / other[0]:>9.0f}"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--n", type=int, default=100_000)
    parser.add_argument("--d", type=int, nargs="+", default=[4, 8])
    parser.add_argument("--radius", type=float, nargs="+", default=[0.25, 1.0, 2.0, 4.0])
    parser.add_argument("--tolerance", type=float, nargs="+", default=[1e-3, 1e-6])
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--tree", action="store_true")
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    print(describe())
    print(f"\nn = {given.n:,}; seconds and x torch: monomials, then trees")
    print(
        f"{'d':>3}{'R':>7}{'tol.':>9}{'seconds':>9}{'x torch':>9}{'error':>10}{'bound':>10}"
        f"{'seconds':>9}{'x torch':>9}"
    )
    for d in given.d:
        for radius in given.radius:
            x = bench_cloud("ball", given.n, d, radius)
            for tolerance in given.tolerance:
                row = line(x, radius, tolerance, tree=given.tree, repeats=given.repeats)
                print(row, flush=True)


if __name__ == "__main__":
    main()
