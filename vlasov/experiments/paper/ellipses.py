r"""Figure 1: covariance ellipses under softmax that flatten to a line, and that blow up.

With V = I the covariance is known: :math:`\Sigma(t)^{-1} = \Sigma_0^{-1} - t (A + A^T)`.
Source: spec 2.2, 4.
"""

__all__ = ["Ellipses"]

from dataclasses import dataclass

import torch
from torch import Tensor

from vlasov.experiments.paper.parameters import Parameters
from vlasov.experiments.paper.request import Request
from vlasov.experiments.paper.variants import equation
from vlasov.experiments.report import Report, Table
from vlasov.gaussian import Gaussian
from vlasov.reduction import Reduction, reduce

_START = ((1.0, 0.3), (0.3, 0.6))
_CLUSTERING = (0.0, 0.5, 2.0, 8.0, 32.0, 1e4)
_FRACTIONS = (0.0, 0.4, 0.65, 0.8, 0.9, 0.95)
_PANELS = ("clustering", "blow-up")


@dataclass(frozen=True)
class Ellipses:
    """The recipe: two pairs (Q, K), V = I and one start."""

    def report(self, request: Request) -> Report:
        """Both runs at six times each; those of the blow-up are fractions of its time."""
        start = Gaussian([0.0, 0.0], _START)
        pieces = request.context.pieces(2)
        found = {
            name: pieces.get(name, lambda name=name: self._panel(name, start, request))
            for name in _PANELS
        }
        blown = float(found["blow-up"]["blow_up_time"])
        rows = [
            (name, float(t), *_entries(cov))
            for name, piece in found.items()
            for t, cov in zip(piece["times"], piece["cov"], strict=True)
        ]
        return Report(
            {"view": "ellipses", "panels": list(_PANELS), "blow_up_time": blown},
            {"covariances": Table(("panel", "t", "cov_11", "cov_12", "cov_22"), tuple(rows))},
            {f"{name}_{key}": piece[key] for name, piece in found.items() for key in piece},
            (
                "clustering: K = -Q of one row, so the ellipse flattens to the line ker Q.",
                f"blow-up: A + A^T is positive; the ellipse is infinite at t* = {blown:.9g}.",
            ),
        )

    def _panel(self, name: str, start: Gaussian, request: Request) -> dict[str, Tensor]:
        pde = equation("softmax", _parameters(name), as_published=request.as_published)
        if name == "clustering":
            return _frames(reduce(pde, start, until=_CLUSTERING[-1], save_at=_CLUSTERING[1:]))
        time = torch.as_tensor(reduce(pde, start, until=1e3).blow_up_time)
        times = [part * float(time) for part in _FRACTIONS]
        run = reduce(pde, start, until=times[-1], save_at=times[1:])
        return _frames(run) | {"blow_up_time": time}


def _parameters(name: str) -> Parameters:
    eye = torch.eye(2, dtype=torch.float64)
    if name == "clustering":
        query = torch.tensor([[0.6, -0.8]], dtype=torch.float64)
        return Parameters(query, -query, eye)
    key = torch.tensor([[1.0, -0.4], [0.2, 0.5]], dtype=torch.float64)
    return Parameters(eye, key, eye)


def _frames(run: Reduction) -> dict[str, Tensor]:
    return {"times": run.times, "cov": run.cov}


def _entries(cov: Tensor) -> tuple[float, float, float]:
    return float(cov[0, 0]), float(cov[0, 1]), float(cov[1, 1])
