"""The record of a reduction: the flow map, the laws it carries, and how the run ended."""

__all__ = ["Reduction"]

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from vlasov.errors import InvalidValue
from vlasov.gaussian import Affine, Gaussian

_SAME = 1e-12


@dataclass(frozen=True, eq=False)
class Reduction:
    """A Gaussian law, or a batch of them, carried by an equation.

    Times are in layers × step. In a batch, frames of a system after its own end are NaN (never a
    plausible number); `final` holds the last law of every system. A lone run that ends early has
    its last law as last frame. `flow` is the map ``[A | b]`` from the start to each frame;
    without noise it carries `start` to `mean` and `cov`.

    `status` is ``"finished"``, ``"blow-up"`` (the law ends at `blow_up_time`), ``"exponential"``
    (the trace grew by the threshold at a steady rate), ``"max-steps"`` or ``"step-too-small"``; of
    a batch it is the first that is not ``"finished"``, and `member_status` has one for each
    system. `blow_up_time` is None, or for a batch infinite, where no blow-up was met.
    """

    start: Gaussian
    times: Float[Tensor, " f"]
    mean: Float[Tensor, "f *batch d"]
    cov: Float[Tensor, "f *batch d d"]
    flow: Float[Tensor, "f *batch d d1"]
    final: Gaussian
    status: str
    message: str
    blow_up_time: float | Float[Tensor, "*batch"] | None
    member_status: tuple[str, ...]
    member_stopped_at: tuple[float, ...]
    steps: int
    rejected: int
    evaluations: int

    @property
    def finished(self) -> bool:
        """Whether every system reached the end time."""
        return self.status == "finished"

    def law(self, frame: int) -> Gaussian:
        """The law of one frame."""
        return Gaussian(self.mean[frame], self.cov[frame])

    def at(self, t: float) -> Gaussian:
        """The law at the time of a frame.

        Raises:
            InvalidValue: past a blow-up or the end of a run, or between frames.
        """
        return self.law(self._frame(t))

    def flow_at(self, t: float) -> Affine:
        """The map from the start to the time of a frame.

        Raises:
            InvalidValue: past a blow-up or the end of a run, or between frames.
        """
        flow = self.flow[self._frame(t)]
        return Affine(flow[..., :-1], flow[..., -1])

    def _frame(self, t: float) -> int:
        self._require_existence(t)
        gap = (self.times - t).abs()
        nearest = int(gap.argmin())
        if float(gap[nearest]) > _SAME * max(1.0, abs(t)):
            raise InvalidValue(
                f"A law is known at the frames but t = {t} is none; the nearest is "
                f"t = {float(self.times[nearest]):.10g}. Reduce again with it in `save_at`."
            )
        return nearest

    def _require_existence(self, t: float) -> None:
        """Refuse a time at which some system has no law, or was not followed to."""
        start = float(self.times[0])
        ends = self.member_stopped_at
        first = min(range(len(ends)), key=lambda i: abs(ends[i] - start))
        if abs(t - start) <= abs(ends[first] - start):
            return
        if self.blow_up_time is not None and self.member_status[first] == "blow-up":
            end = float(torch.as_tensor(self.blow_up_time, dtype=torch.float64).reshape(-1)[first])
            raise InvalidValue(
                f"The law exists up to its blow-up at t* = {end:.10g} but was asked for at "
                f"t = {t}. Ask for an earlier time."
            )
        raise InvalidValue(
            f"The law was followed up to t = {ends[first]:.10g} but was asked for at t = {t}. "
            f"The run is '{self.member_status[first]}': {self.message}"
        )
