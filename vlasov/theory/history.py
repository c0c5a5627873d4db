"""A simulation and a reduction seen alike: mean, covariance and extent along time."""

__all__ = ["History", "history_of"]

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from vlasov.cloud import Cloud
from vlasov.errors import ShapeMismatch
from vlasov.observables.extent import MaxNorm
from vlasov.observables.moments import covariance, mean
from vlasov.reduction.result import Reduction
from vlasov.run import Run


@dataclass(frozen=True, eq=False)
class History:
    """The moments of one law along a run.

    Attributes:
        times: times of the frames.
        mean: the means.
        cov: the covariances.
        cloud: all frames as a batch of clouds; None for a Gaussian law.
        status: how the run ended.
        end: the time at which it blew up; None where it did not.
        resolution: how well that time is known: a mean step of a simulation, 0 for a reduction,
            which extrapolates.
    """

    times: Float[Tensor, " f"]
    mean: Float[Tensor, "f d"]
    cov: Float[Tensor, "f d d"]
    cloud: Cloud | None
    status: str
    end: float | None
    resolution: float

    @property
    def gaussian(self) -> bool:
        """Whether the law is a Gaussian one, and not that of a cloud."""
        return self.cloud is None

    @property
    def radius(self) -> Float[Tensor, " f"] | None:
        """The largest norm of a token; None for a Gaussian law."""
        return None if self.cloud is None else MaxNorm()(self.cloud)

    @property
    def second_moment(self) -> Float[Tensor, "f d d"]:
        """The second moments about the origin."""
        return self.cov + self.mean.unsqueeze(-1) * self.mean.unsqueeze(-2)


def history_of(result: Run | Reduction) -> History:
    """The history of one cloud or one law.

    Raises:
        ShapeMismatch: for a batch.
    """
    own = result.mean.dim() if isinstance(result, Reduction) else result.points.dim() - 1
    if own != 2:
        raise ShapeMismatch(
            "Statements are compared with the run of one law but this one is of a batch; run its "
            "members one by one."
        )
    if isinstance(result, Reduction):
        end = None if result.blow_up_time is None else float(result.blow_up_time)
        return History(result.times, result.mean, result.cov, None, result.status, end, 0.0)
    frames = len(result.points)
    weights = result.log_weights.expand(frames, -1)
    cloud = Cloud.from_log_weights(result.points, weights)
    wide = cloud.to(dtype=torch.promote_types(cloud.points.dtype, torch.float32))
    end = result.stopped_at if result.status == "blow-up" else None
    step = (result.stopped_at - float(result.times[0])) / max(result.steps, 1)
    return History(
        result.point_times, mean(wide), covariance(wide), wide, result.status, end, abs(step)
    )
