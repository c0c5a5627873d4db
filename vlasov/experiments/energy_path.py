r"""The energy along a run, and its slope by differences of the flow alone.

At each frame the tokens are moved by h and 2h forwards and backwards, and

.. math:: \frac{dF}{dt} \approx \frac{8 (F_h - F_{-h}) - (F_{2h} - F_{-2h})}{12 h}

is compared with -D, which comes from the velocity and the metric.
"""

__all__ = ["EnergyPath", "follow"]

import math
from collections.abc import Mapping
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from vlasov.cloud import Cloud
from vlasov.energies import Dissipation, Energy, convexity_bound
from vlasov.errors import NotFinite
from vlasov.experiments.energy_config import EnergyConfig
from vlasov.experiments.pieces import Pieces
from vlasov.pde import TransformerPDE, velocity
from vlasov.solve import simulate

Frame = Mapping[str, Tensor]

_SLACK = 1e-9  # of a step: spans are differences of rounded times


@dataclass(frozen=True, eq=False)
class EnergyPath:
    """Frames of a run: its end may come before the last time that was asked for.

    `bound` is the bound on the convexity of `vlasov.energies.convexity`, where asked for.
    """

    times: Float[Tensor, " f"]
    points: Float[Tensor, "f n d"]
    energy: Float[Tensor, " f"]
    dissipation: Float[Tensor, " f"]
    slope: Float[Tensor, " f"]
    bound: Float[Tensor, " f"] | None
    ended: str

    @property
    def gap(self) -> Float[Tensor, " f"]:
        """How far the slope is from -D."""
        return (self.slope + self.dissipation).abs()

    @property
    def largest_rise(self) -> float:
        """The largest increase of the energy between two frames; negative if it always falls."""
        return float(self.energy.diff().max()) if len(self.energy) > 1 else 0.0

    @property
    def monotone(self) -> bool:
        """Whether the energy never rises by more than rounding."""
        rounding = 1e3 * torch.finfo(self.energy.dtype).eps * float(self.energy.abs().max())
        return self.largest_rise <= rounding


def follow(
    pde: TransformerPDE, cloud: Cloud, config: EnergyConfig, pieces: Pieces, *, probe: bool
) -> EnergyPath:
    """Run the equation and look at each frame; every frame is a piece."""
    times = torch.linspace(0.0, config.time, config.frames, dtype=torch.float64).tolist()
    watched = _Watched(pde, config, probe)
    frames: list[Frame] = []
    for k, time in enumerate(times):
        before = frames[-1]["points"] if frames else cloud.points
        here = cloud.with_points(before.to(cloud.points))
        span = 0.0 if k == 0 else time - times[k - 1]
        frame = pieces.get(
            f"frame-{k:04d}", lambda here=here, span=span: watched.frame(here, span)
        )
        if "ended" in frame and not frames:
            raise NotFinite(
                "The energy of the tokens at the start exceeds the largest number: its exponents "
                "are scores of hundreds. Lower beta or the size of the maps or tokens."
            )
        if "ended" in frame:
            return _joined(times, frames, ("blow-up", "overflow")[int(frame["ended"])])
        frames.append(frame)
    return _joined(times, frames, "finished")


def _joined(times: list[float], frames: list[Frame], ended: str) -> EnergyPath:
    columns = {name: torch.stack([frame[name] for frame in frames]) for name in frames[0]}
    bound = columns.pop("bound", None)
    at = torch.tensor(times[: len(frames)], dtype=torch.float64)
    return EnergyPath(times=at, bound=bound, ended=ended, **columns)


@dataclass(frozen=True, eq=False)
class _Watched:
    """An equation with what is measured along it."""

    pde: TransformerPDE
    config: EnergyConfig
    probe: bool

    def frame(self, before: Cloud, span: float) -> Frame:
        """The state after `span`, or how the run ended."""
        cloud = self._moved(before, span)
        if cloud is None:
            return {"ended": torch.tensor(0)}
        measured = {
            "points": cloud.points,
            "energy": Energy(self.pde, self.probe)(cloud),
            "dissipation": Dissipation(self.pde, self.probe)(cloud),
        }
        if not all(bool(value.isfinite().all()) for value in measured.values()):
            return {"ended": torch.tensor(1)}
        measured["slope"] = self._slope(cloud, measured)
        if self.config.convexity:
            measured["bound"] = convexity_bound(self.pde, cloud)
        return measured

    def _moved(self, cloud: Cloud, span: float) -> Cloud | None:
        """The cloud after whole steps, none above the size asked for; None of a blow-up."""
        if span == 0:
            return cloud
        steps = max(1, math.ceil(span / self.config.step - _SLACK))
        run = simulate(
            self.pde,
            cloud,
            until=span,
            step=span / steps,
            integrator=self.config.integrator,
            keep="last",
        )
        return run.final if run.finished else None

    def _slope(self, cloud: Cloud, measured: Frame) -> Tensor:
        h = self._difference(cloud, measured)
        after, before = (
            Energy(self.pde, self.probe)(
                Cloud.from_log_weights(run.points, cloud.log_weights.expand(3, -1))
            )
            for run in (
                simulate(self.pde, cloud, until=2 * t, step=h, integrator="rk4", save_every=1)
                for t in (h, -h)
            )
        )
        return (8 * (after[1] - before[1]) - (after[2] - before[2])) / (12 * h)

    def _difference(self, cloud: Cloud, measured: Frame) -> float:
        """The h at which truncation and rounding balance: eps^(1/5) of the time of change."""
        size, speed = (
            float((x.square().sum(-1) @ cloud.weights.to(x)).sqrt())
            for x in (cloud.points, velocity(self.pde, cloud))
        )
        times = [self.config.time]
        times += [size / speed] if speed > 0 else []
        fall = float(measured["dissipation"])
        times += [abs(float(measured["energy"])) / fall] if fall > 0 else []
        eps = torch.finfo(cloud.points.dtype).eps
        return eps**0.2 * min(time for time in times if time > 0)
