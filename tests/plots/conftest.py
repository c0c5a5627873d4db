"""Runs written by hand: a picture reads a record and needs no equation."""

from collections.abc import Callable

import pytest
import torch
from matplotlib.figure import Figure
from torch import Tensor

from vlasov.run import Run

MakeRun = Callable[..., Run]


@pytest.fixture(autouse=True)
def _long_run(unchecked_types: None) -> None: ...


@pytest.fixture
def make_run() -> MakeRun:
    """A finished run whose frames are the given tensor; any field of the record can be set."""

    def make(points: Tensor, **fields: object) -> Run:
        frames = len(points)
        n = points.shape[-2]
        uniform = torch.zeros(points.shape[1:-1], dtype=torch.float64).sub(n).log_softmax(-1)
        times = torch.linspace(0.0, 1.0, frames, dtype=torch.float64)
        given = {
            "times": times,
            "points": points,
            "point_times": times,
            "log_weights": uniform,
            "positions": None,
            "status": "finished",
            "message": "",
            "stopped_at": float(times[-1]),
        } | fields
        return Run(**given)

    return make


@pytest.fixture
def shrinking(make_run: MakeRun, generator: torch.Generator) -> Callable[..., Run]:
    """A Gaussian cloud that shrinks to half its size; on the sphere it stays there."""

    def make(n: int = 12, d: int = 2, frames: int = 5, *, sphere: bool = False) -> Run:
        x = torch.randn(n, d, generator=generator, dtype=torch.float64)
        scale = torch.linspace(1.0, 0.5, frames, dtype=torch.float64)[:, None, None]
        points = scale * x + (1 - scale) * x[:1]
        if sphere:
            points = torch.nn.functional.normalize(points, dim=-1)
        return make_run(points, facts={"geometry": "sphere" if sphere else "euclid"})

    return make


@pytest.fixture
def figure() -> Figure:
    """A figure to draw in."""
    from vlasov.plots import new_figure

    return new_figure()
