"""Clusters of very many tokens on the circle: when they appear, and how many of them last.

    python benchmarks/metastable.py escape --n 1000 10000 100000 1000000 --seeds 12 12 8 3
    python benchmarks/metastable.py count --n 100000 --beta 9 16 25 49 81 --seeds 4
    python benchmarks/metastable.py grid --n 100000 --beta 5 9 25 49 --noise 1e-3 --seeds 4

Uniform tokens under softmax attention. `escape`, beta = 5: the time at which the root of
sum_k |mean e^(ik theta)|^2, k up to twice the fastest mode, reaches 0.4, beside the time at which
these modes would reach it if each grew at its rate about the uniform law; as n grows,
log(n) / (2 lambda), lambda the fastest rate. `count`: clusters a gap of 0.5 / sqrt(beta) apart at
the time 12 + log(n / 1000) / (2 lambda), beside the number k of the fastest mode. `grid`: both,
from evenly spaced tokens with a little noise, at the time 22 + log(a) / lambda, where modes start
a times lower than those of 800 tokens with noise 1e-3.
"""

__all__ = ["main"]

import argparse
import math
import time

import numpy as np
import torch
from jaxtyping import Float
from machine import describe
from scipy.optimize import brentq
from scipy.special import ive
from torch import Tensor

import vlasov as vl
from vlasov.observables import Clusters

LEVEL = 0.4
BETA = 5.0
GRID, NOISE, PATIENCE = 800, 1e-3, 22.0
"""The displaced grid of the prediction: its tokens, its deviation, when clusters are counted."""


def growth(beta: float) -> Float[np.ndarray, " modes"]:
    """The rates of the modes 1, 2, ... about the uniform law."""
    k = np.arange(1, 100)
    return k**2 * ive(k, beta) / (beta * ive(0, beta))


def fastest(beta: float) -> tuple[int, float]:
    """The mode that grows fastest, and its rate."""
    rates = growth(beta)
    return int(rates.argmax()) + 1, float(rates.max())


def amplitudes(points: Tensor, beta: float) -> Tensor:
    """The lengths of the modes up to twice the fastest one."""
    z = torch.view_as_complex(points)
    return torch.stack([(z**k).mean(-1).abs() for k in range(1, 2 * fastest(beta)[0] + 1)])


def equation(beta: float) -> vl.TransformerPDE:
    """Softmax attention on the sphere, the trees at 1e-6: far below the noise of a million."""
    return vl.TransformerPDE("softmax", beta=beta, geometry="sphere", engine="tree:tolerance=1e-6")


def clusters(beta: float) -> Clusters:
    """Their number; the radius is the chord of the gap."""
    return Clusters(2 * math.sin(0.25 / math.sqrt(beta)))


def linear_escape(points: Tensor, beta: float) -> float:
    """The time of escape if every mode went on growing at its rate about the uniform law."""
    squares = amplitudes(points, beta).square().numpy()
    grown = 2 * growth(beta)[: len(squares)]
    return brentq(lambda t: (squares * np.exp(grown * t)).sum() - LEVEL**2, -10, 100)


def escape_time(run: vl.Run) -> float:
    """When the observed amplitude first reaches the level."""
    amplitude, level = run.observables["amplitude"].log().numpy(), math.log(LEVEL)
    until = int((amplitude > level).argmax()) + 1
    return float(np.interp(level, amplitude[:until], run.times.numpy()[:until]))


def escape(n: int, seed: int) -> tuple[float, float]:
    """The time of one cloud, and that of its modes on their own."""
    cloud = vl.Cloud.sphere(n=n, d=2, seed=seed)
    alone = linear_escape(cloud.points, BETA)
    run = vl.simulate(
        equation(BETA), cloud, until=alone + 1, step=0.5, keep="last", save_every=1,
        observe={"amplitude": lambda cloud: amplitudes(cloud.points, BETA).norm()},
    )  # fmt: skip
    return escape_time(run), alone


def cluster_count(n: int, beta: float, seed: int) -> int:
    """The clusters of one cloud."""
    _, rate = fastest(beta)
    until = 12 + math.log(n / 1000) / (2 * rate)
    run = vl.simulate(
        equation(beta), vl.Cloud.sphere(n=n, d=2, seed=seed), until=until, step=until / 30,
        keep="last", save_at=(until,), observe={"clusters": clusters(beta)},
    )  # fmt: skip
    return int(run.observables["clusters"][-1])


def grid(n: int, noise: float, seed: int) -> vl.Cloud:
    """Evenly spaced tokens, each displaced by an angle of this deviation."""
    generator = torch.Generator().manual_seed(seed)
    shift = noise * torch.randn(n, generator=generator, dtype=torch.float64)
    angle = torch.arange(n, dtype=torch.float64) * (2 * math.pi / n) + shift
    return vl.Cloud(torch.stack([angle.cos(), angle.sin()], dim=-1))


def grid_clusters(n: int, noise: float, beta: float, seed: int) -> tuple[int, float, float]:
    """The clusters of one displaced grid, its time of escape and that of its modes alone.

    Modes start lower by sqrt(n), higher by the noise: they are given the time that this takes.
    """
    cloud, (_, rate) = grid(n, noise, seed), fastest(beta)
    until = PATIENCE + math.log(NOISE / noise * math.sqrt(n / GRID)) / rate
    run = vl.simulate(
        equation(beta), cloud, until=until, step=0.5, keep="last", save_every=1,
        observe={
            "amplitude": lambda cloud: amplitudes(cloud.points, beta).norm(),
            "clusters": clusters(beta),
        },
    )  # fmt: skip
    count = int(run.observables["clusters"][-1])
    return count, escape_time(run), linear_escape(cloud.points, beta)


def _escape(ns: list[int], seeds: list[int]) -> None:
    _, rate = fastest(BETA)
    print("n, clouds, mean escape time, standard error, mean and deviation of what it is later "
          "than modes on their own, CPU seconds of a cloud")  # fmt: skip
    means, errors = [], []
    for n, count in zip(ns, seeds, strict=True):
        clock = time.process_time()
        times, alone = np.array([escape(n, seed) for seed in range(count)]).T
        spent, late = (time.process_time() - clock) / count, times - alone
        means.append(times.mean())
        errors.append(times.std(ddof=1) / math.sqrt(count))
        row = f"{n}, {count}, {means[-1]:.3f}, {errors[-1]:.3f}, {late.mean():.3f}"
        print(f"{row}, {late.std(ddof=1):.3f}, {spent:.1f}", flush=True)
    fit = np.polyfit(np.log(ns), means, 1, w=1 / np.array(errors))
    print(f"slope against log n {fit[0]:.3f}; 1 / (2 lambda) = {1 / (2 * rate):.3f}")


def _count(n: int, betas: list[float], seeds: int) -> None:
    print("beta, k, clusters of each cloud, mean, mean / k, CPU seconds of a cloud")
    means = []
    for beta in betas:
        clock, (k, _) = time.process_time(), fastest(beta)
        found = [cluster_count(n, beta, seed) for seed in range(seeds)]
        means.append(sum(found) / seeds)
        spent = (time.process_time() - clock) / seeds
        row = f"{beta:g}, {k}, {found}, {means[-1]:.2f}, {means[-1] / k:.2f}, {spent:.1f}"
        print(row, flush=True)
    if len(betas) > 1:
        slope = np.polyfit(np.log(betas), np.log(means), 1)[0]
        print(f"slope of log clusters against log beta {slope:.3f}; expected 0.5")


def _grid(n: int, betas: list[float], noise: float, seeds: int) -> None:
    print(f"n = {n:,}, deviation {noise:g}")
    print("beta, k, clusters of each cloud, mean and deviation of the escape time and of what it "
          "is later than modes on their own, CPU seconds of a cloud")  # fmt: skip
    for beta in betas:
        clock, (k, _) = time.process_time(), fastest(beta)
        found = [grid_clusters(n, noise, beta, seed) for seed in range(seeds)]
        spent = (time.process_time() - clock) / seeds
        counts, (times, alone) = [row[0] for row in found], np.array(found).T[1:]
        late = times - alone
        row = f"{beta:g}, {k}, {counts}, {times.mean():.2f}, {times.std(ddof=1):.2f}"
        print(f"{row}, {late.mean():.2f}, {late.std(ddof=1):.2f}, {spent:.1f}", flush=True)


def main() -> None:
    """Print one of the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("question", choices=("escape", "count", "grid"))
    parser.add_argument("--n", type=int, nargs="+", default=[1000, 10_000, 100_000])
    parser.add_argument("--beta", type=float, nargs="+", default=[9.0, 25.0, 49.0])
    parser.add_argument("--seeds", type=int, nargs="+", default=[12])
    parser.add_argument("--noise", type=float, default=NOISE)
    given = parser.parse_args()
    print(describe())
    if given.question == "escape":
        seeds = given.seeds * len(given.n) if len(given.seeds) == 1 else given.seeds
        _escape(given.n, seeds)
    elif given.question == "count":
        _count(given.n[0], given.beta, given.seeds[0])
    else:
        _grid(given.n[0], given.beta, given.noise, given.seeds[0])


if __name__ == "__main__":
    main()
