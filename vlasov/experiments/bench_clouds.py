"""Token clouds on which engines are timed: the hard cases and those that the dynamics makes."""

__all__ = ["CLOUDS", "bench_cloud"]

from collections.abc import Callable

import torch
from torch import Tensor

_CLUMPS, _WIDTH = 20, 1e-3


def _directions(n: int, d: int, g: torch.Generator) -> Tensor:
    x = torch.randn(n, d, generator=g, dtype=torch.float64)
    return x / x.norm(dim=1, keepdim=True)


def _ball(n: int, d: int, g: torch.Generator) -> Tensor:
    radii = torch.rand(n, 1, generator=g, dtype=torch.float64) ** (1 / d)
    return radii * _directions(n, d, g)


def _gaussian(n: int, d: int, g: torch.Generator) -> Tensor:
    return torch.randn(n, d, generator=g, dtype=torch.float64)


def _clumps(n: int, d: int, g: torch.Generator) -> Tensor:
    centres = _ball(_CLUMPS, d, g)
    chosen = torch.randint(0, _CLUMPS, (n,), generator=g)
    return centres[chosen] + _WIDTH * _gaussian(n, d, g)


CLOUDS: dict[str, Callable[[int, int, torch.Generator], Tensor]] = {
    "ball": _ball, "gaussian": _gaussian, "clumps": _clumps, "sphere": _directions,
}  # fmt: skip


def bench_cloud(kind: str, n: int, d: int, radius: float, *, seed: int = 0) -> Tensor:
    """Centred tokens (n, d) whose largest squared norm is `radius`; the same at every call."""
    x = CLOUDS[kind](n, d, torch.Generator().manual_seed(seed))
    x = x - x.mean(dim=0)
    longest = x.norm(dim=1).max()
    return x * (radius**0.5 / torch.where(longest > 0, longest, 1.0))
