"""The cases in which the covariance equation of one head has a closed form."""

__all__ = ["ClosedForm", "Commuting", "Resting"]

import abc
from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor

from vlasov._shapes import Covariance
from vlasov.errors import InvalidValue
from vlasov.gaussian import Affine, Gaussian
from vlasov.reduction.closed_forms import (
    past_the_end,
    pulled_back,
    softmax_blow_up_time,
    softmax_factor,
    softmax_flow,
    softmax_limit_factor,
)

Times = Float[Tensor, "..."]


class ClosedForm(abc.ABC):
    """A solution of the covariance equation that needs no steps."""

    case: ClassVar[str]
    """The condition on maps and law, in words."""

    @abc.abstractmethod
    def at(self, t: Times) -> Gaussian:
        """The law at times that broadcast with the batch.

        Raises:
            InvalidValue: for a time at or past the blow-up, which the message names.
        """

    @abc.abstractmethod
    def blow_up_time(self) -> Times:
        """The first time at which the covariance is infinite; infinite where there is none."""

    @abc.abstractmethod
    def limit(self) -> Covariance:
        """The covariance at infinite time.

        Raises:
            InvalidValue: where the covariance grows without bound.
        """


@dataclass(frozen=True, eq=False)
class Resting(ClosedForm):
    """A stationary covariance: only the mean moves, by a constant linear map.

    Attributes:
        start: the law.
        drift: the matrix G of ``alpha' = G alpha``.
        whole: whether every token moves by G, as under linear attention at a resting second
            moment.
    """

    case: ClassVar[str] = "the covariance is stationary"
    start: Gaussian
    drift: Tensor
    whole: bool

    def at(self, t: Times) -> Gaussian:
        """The mean moved by ``exp(t G)``."""
        flow = torch.linalg.matrix_exp(t[..., None, None] * self.drift)
        moved = self.start.push(Affine(flow, torch.zeros_like(flow[..., 0])))
        if self.whole:
            return moved
        factor = self.start.factor.expand(*moved.mean.shape[:-1], *self.start.factor.shape[-2:])
        return Gaussian.of_factor(moved.mean, factor)

    def blow_up_time(self) -> Times:
        """Never."""
        return torch.full_like(self.drift[..., 0, 0], torch.inf)

    def limit(self) -> Covariance:
        """The covariance itself."""
        if self.whole and bool(self.start.mean.any()):
            raise InvalidValue(
                "The second moment rests but mean and covariance may turn for ever; ask for a "
                "finite time."
            )
        return self.start.cov


@dataclass(frozen=True, eq=False)
class Commuting(ClosedForm):
    r"""Softmax, or linear attention, with V = vI or V symmetric and commuting with the rest.

    Attributes:
        start: the law; its mean is 0 unless VA is symmetric.
        moments: the factor of what obeys the equation: the covariance, or under linear attention
            the second moment, whose factor is that of the start with the mean as last column.
        value: the map V.
        product: the matrix VA.
        whole: whether every token moves by the flow of the centred part (linear attention).
    """

    case: ClassVar[str] = "V is symmetric and commutes with Sigma_0 and S = VA + A^T V^T"
    start: Gaussian
    moments: Tensor
    value: Tensor
    product: Tensor
    whole: bool

    @property
    def _rate(self) -> Tensor:
        return self.product + self.product.mT

    def at(self, t: Times) -> Gaussian:
        """The factor ``L_0 (I - t L_0^T S L_0)^{-1/2}`` and the mean ``exp(tV) X alpha_0``."""
        self._require_alive(t)
        moving = bool(self.start.mean.any())
        if self.whole and moving:
            flow = softmax_flow(self.moments, self.product, t)
            return self.start.push(Affine(flow, torch.zeros_like(flow[..., 0])))
        factor = softmax_factor(self.start.factor, t[..., None, None] * self._rate)
        mean = self.start.mean.expand(*factor.shape[:-2], -1)
        if moving:
            flow = softmax_flow(self.start.factor, self.product, t)
            drift = torch.linalg.matrix_exp(t[..., None, None] * self.value)
            mean = (drift @ flow @ mean.unsqueeze(-1)).squeeze(-1)
        return Gaussian.of_factor(mean, factor)

    def _require_alive(self, t: Tensor) -> None:
        values, _ = pulled_back(self.moments, self._rate)
        shares = t.unsqueeze(-1) * values
        if bool((shares >= 1).any()):
            worst = int(shares.argmax())
            time = float(t.unsqueeze(-1).expand(shares.shape).flatten()[worst])
            raise past_the_end(time, time / float(shares.flatten()[worst]))

    def blow_up_time(self) -> Times:
        """The time ``1 / lambda_max(L_0^T S L_0)``."""
        return softmax_blow_up_time(self.moments, self._rate)

    def limit(self) -> Covariance:
        """The projection of the start on the kernel of S, in its own metric."""
        kept = softmax_limit_factor(self.moments, self._rate)
        kept = kept[..., : self.start.factor.shape[-1]]
        return kept @ kept.mT
