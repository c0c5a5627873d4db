"""Ten thousand random Gaussian reductions beside a loop over scipy's `solve_ivp`.

    python benchmarks/reductions.py

Softmax attention, entries of Q, K, V and of the root of the covariance from N(0, 1), and V scaled
so that 1 is 0.8 of the time before which no system can blow up: t < 1/(2 |V| |A| λ_max). Both
sides solve for mean and covariance at rtol 1e-9, atol 1e-12, on one thread. The loop is timed on
the first 500 systems in turn with ours and scaled to all; the answers are compared on these. Times
are those of the processor, so that other programs on the machine do not count.
"""

__all__ = ["main"]

import resource
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from machine import describe
from scipy.integrate import solve_ivp
from torch import Tensor

import vlasov as vl

SYSTEMS, TIMED = 10_000, 500
REPEATS = 5


@dataclass(frozen=True)
class Draw:
    """Random systems of one width."""

    score: Tensor
    value: Tensor
    pde: vl.TransformerPDE
    law: vl.Gaussian

    @classmethod
    def random(cls, d: int) -> "Draw":
        """The draws, with V scaled to the time 1."""
        generator = torch.Generator().manual_seed(0)
        q, k, v, root = torch.randn(4, SYSTEMS, d, d, generator=generator, dtype=torch.float64)
        mean = torch.randn(SYSTEMS, d, generator=generator, dtype=torch.float64)
        cov = root @ root.mT
        sizes = [torch.linalg.matrix_norm(one, 2) for one in (k.mT @ q, v, cov)]
        scale = 0.8 / (2 * sizes[0] * sizes[1] * sizes[2])
        v = v * scale[:, None, None]
        maps = vl.Projections(q.unsqueeze(1), k.unsqueeze(1), v.unsqueeze(1))
        return cls(k.mT @ q, v, vl.TransformerPDE("softmax", maps), vl.Gaussian(mean, cov))

    def ours(self) -> tuple[Tensor, Tensor]:
        """Mean and covariance of all systems at time 1, by the library."""
        run = vl.reduce(self.pde, self.law, until=1.0, rtol=1e-9, atol=1e-12)
        return run.mean[-1], run.cov[-1]

    def loop(self, method: str) -> tuple[Tensor, Tensor]:
        """Mean and covariance of the first systems, one after the other, by scipy."""
        arrays = (self.score, self.value, self.law.mean, self.law.cov)
        systems = zip(*(one[:TIMED].numpy() for one in arrays), strict=True)
        ends = [torch.from_numpy(_solved(a, v, m, c, method)) for a, v, m, c in systems]
        d = self.law.d
        together = torch.stack(ends)
        return together[:, :d], together[:, d:].reshape(-1, d, d)


def _solved(
    a: np.ndarray, v: np.ndarray, mean: np.ndarray, cov: np.ndarray, method: str
) -> np.ndarray:
    d = len(mean)

    def velocity(t: float, y: np.ndarray) -> np.ndarray:
        alpha, sigma = y[:d], y[d:].reshape(d, d)
        spread = v @ sigma @ a
        half = spread @ sigma
        return np.concatenate([v @ alpha + spread @ alpha, (half + half.T).ravel()])

    begin = np.concatenate([mean, cov.ravel()])
    return solve_ivp(velocity, (0.0, 1.0), begin, method=method, rtol=1e-9, atol=1e-12).y[:, -1]


def timed(action: Callable[[], tuple[Tensor, Tensor]]) -> tuple[float, tuple[Tensor, Tensor]]:
    """Processor seconds of one call, and its answer."""
    start = time.process_time()
    answer = action()
    return time.process_time() - start, answer


def compared(d: int) -> None:
    """Print one line for each method of scipy."""
    draw = Draw.random(d)
    draw.ours()
    for method in ("RK45", "DOP853"):
        pairs = [(timed(draw.ours), timed(lambda m=method: draw.loop(m))) for _ in range(REPEATS)]
        ours = statistics.median(one[0] for one, _ in pairs)
        loop = statistics.median(other[0] for _, other in pairs) * SYSTEMS / TIMED
        (_, found), (_, wanted) = pairs[-1]
        gaps = [float((f[:TIMED] - w).abs().max()) for f, w in zip(found, wanted, strict=True)]
        print(
            f"{d} x {d}: ours {ours:.3f} s, solve_ivp {method} {loop:.2f} s (scaled from {TIMED}):"
            f" ratio {loop / ours:.1f}; largest difference {max(gaps):.1e}"
        )


def main() -> None:
    """Print ratios and memory for 2 x 2 and 8 x 8."""
    torch.set_num_threads(1)
    print(describe())
    for d in (2, 8):
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        compared(d)
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        print(f"{d} x {d}: peak memory grew by {grown / 1024:.0f} MB")


if __name__ == "__main__":
    main()
