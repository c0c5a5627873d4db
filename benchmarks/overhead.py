"""What the library costs around its sums: importing it, and stepping a small cloud.

    python benchmarks/overhead.py

Both are ratios of medians over interleaved repetitions: `import vlasov` against `import torch` in
new processes, and a 100-step RK4 run of 200 tokens that saves and observes nothing against its 400
velocity evaluations.
"""

__all__ = ["main"]

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable

import torch
from machine import describe

import vlasov as vl

REPEATS = 9
STEPS = 100
TOKENS = 200


def timed(action: Callable[[], object]) -> float:
    """Seconds of one call."""
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def medians(*actions: Callable[[], object]) -> list[float]:
    """Median seconds of each action, in turns after one untimed call each."""
    for action in actions:
        action()
    rows = [[timed(action) for action in actions] for _ in range(REPEATS)]
    return [statistics.median(column) for column in zip(*rows, strict=True)]


def importing(name: str) -> Callable[[], object]:
    """Importing a package in a new process, its bytecode cached as in an installed copy."""
    command, environment = [sys.executable, "-c", f"import {name}"], dict(os.environ)
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    return lambda: subprocess.run(command, check=True, env=environment)


def run_and_evaluations() -> list[float]:
    """Seconds of the run and of its bare velocity evaluations."""
    cloud = vl.Cloud.gaussian(n=TOKENS, mean=[0.0, 0.0], cov=[[1.0, 0.0], [0.0, 1.0]], seed=0)
    pde = vl.TransformerPDE(attention="softmax", projections=vl.Projections.identity(2), beta=1.0)
    field, step = pde.particle_field(cloud), 0.1 / STEPS

    def run() -> vl.Run:
        until = STEPS * step
        return vl.simulate(
            pde, cloud, until=until, step=step, integrator="rk4", observe=(), keep="last"
        )

    def evaluations() -> None:
        for _ in range(4 * STEPS):
            field(0.0, cloud.points)

    assert run().evaluations == 4 * STEPS
    return medians(run, evaluations)


def main() -> None:
    """Print both ratios."""
    torch.set_num_threads(2)
    print(describe())
    library, torch_alone = medians(importing("vlasov"), importing("torch"))
    print(
        f"import vlasov {library:.2f} s, import torch {torch_alone:.2f} s: "
        f"ratio {library / torch_alone:.2f}"
    )
    run, evaluations = run_and_evaluations()
    print(
        f"{STEPS} steps of RK4, n = {TOKENS}: {run * 1e3:.1f} ms, {4 * STEPS} evaluations "
        f"{evaluations * 1e3:.1f} ms: ratio {run / evaluations:.2f}"
    )


if __name__ == "__main__":
    main()
