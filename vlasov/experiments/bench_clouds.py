"""Token clouds on which engines are timed: the hard cases and those that the dynamics makes."""

__all__ = ["CLOUDS", "bench_cloud"]

from collections.abc import Callable

import torch
from torch import Tensor

from vlasov.engines.cost_model import CLUMPS
from vlasov.sampling import ball, gaussian, sphere

_WIDTH = 1e-3


def _clumps(n: int, d: int, seed: int) -> Tensor:
    chosen = torch.randint(0, CLUMPS, (n,), generator=torch.Generator().manual_seed(seed))
    return ball(CLUMPS, d, seed=seed)[chosen] + _WIDTH * gaussian(n, d=d, seed=seed)


CLOUDS: dict[str, Callable[[int, int, int], Tensor]] = {
    "ball": lambda n, d, seed: ball(n, d, seed=seed),
    "gaussian": lambda n, d, seed: gaussian(n, d=d, seed=seed),
    "clumps": _clumps,
    "sphere": lambda n, d, seed: sphere(n, d, seed=seed),
}
"""By name: the cloud of n tokens of width d, from a seed."""


def bench_cloud(kind: str, n: int, d: int, radius: float, *, seed: int = 0) -> Tensor:
    """Centred tokens (n, d) whose largest squared norm is `radius`; the same at every call."""
    x = CLOUDS[kind](n, d, seed)
    x = x - x.mean(dim=0)
    longest = x.norm(dim=1).max()
    return x * (radius**0.5 / torch.where(longest > 0, longest, 1.0))
