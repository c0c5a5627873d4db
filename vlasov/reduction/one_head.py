"""One head and one law: what the search for a closed form asks about them."""

__all__ = ["OneHead"]

from dataclasses import dataclass

import torch
from torch import Tensor

from vlasov.attention import L2, Attention, Linear, Sinkhorn, Softmax
from vlasov.errors import Unsupported
from vlasov.gaussian import Gaussian
from vlasov.pde import TransformerPDE
from vlasov.reduction.closed_forms import rounding
from vlasov.reduction.heads import heads_of
from vlasov.reduction.rank_one import RankOneClock
from vlasov.reduction.stationary import stationarity, transport_mode

_KNOWN = (Softmax, Linear, L2, Sinkhorn)


@dataclass(frozen=True, eq=False)
class OneHead:
    """The matrices V, A, N of the one head, and the law it meets.

    Attributes:
        member: the variant.
        value: the map V.
        score: the matrix A.
        squares: the matrix N.
        start: the law.
        moments: the centred law whose covariance obeys the equation: that of the start, or its
            second moment under linear attention.
        rests: whether that covariance is stationary up to rounding, over the whole batch.
    """

    member: Attention
    value: Tensor
    score: Tensor
    squares: Tensor
    start: Gaussian
    moments: Gaussian
    rests: bool

    @classmethod
    def of(cls, pde: TransformerPDE, gaussian: Gaussian) -> "OneHead":
        """The head of an equation.

        Raises:
            Unsupported: for several heads, or a variant or equation without closed forms.
        """
        heads = heads_of(pde, gaussian.mean)
        member = heads.members[0]
        if len(heads.members) > 1:
            raise Unsupported(
                f"Closed forms are known for one head but the equation has {len(heads.members)}; "
                "integrate it."
            )
        if not isinstance(member, _KNOWN):
            raise Unsupported(
                f"Attention '{member.name}' does not keep Gaussians Gaussian, so it has no closed "
                "form; simulate a cloud."
            )
        if isinstance(member, L2) and pde.beta < 0:
            raise Unsupported(
                f"Closed forms of L2 attention take beta >= 0 but got {pde.beta}; integrate the "
                "equation."
            )
        moments = _moments(member, gaussian)
        residual = stationarity(pde, moments)
        return cls(
            member,
            heads.value[..., 0, :, :],
            heads.score[..., 0, :, :],
            heads.squares[..., 0, :, :],
            gaussian,
            moments,
            bool((residual <= rounding(residual)).all()),
        )

    @property
    def whole(self) -> bool:
        """Whether every token moves as the centred part does."""
        return isinstance(self.member, Linear)

    @property
    def on_a_line(self) -> bool:
        """Whether this is one law, and of rank one."""
        return self.moments.mean.dim() == 1 and int(self.moments.rank) == 1

    def mean_rate(self) -> Tensor:
        """The matrix G of ``alpha' = G alpha`` at the covariance of the start."""
        if isinstance(self.member, Sinkhorn):
            return self.value / self.member.eps
        cov = self.moments.cov
        if isinstance(self.member, Linear):
            return self.value @ cov @ self.score
        eye = torch.eye(cov.shape[-1], dtype=cov.dtype, device=cov.device)
        if isinstance(self.member, L2):
            widened = eye + 2 * cov @ self.squares
            return self.value @ torch.linalg.solve(widened, eye + 2 * cov @ self.score)
        return self.value @ (eye + cov @ self.score)

    def _line(self) -> Tensor:
        u, s, _ = torch.linalg.svd(self.moments.factor, full_matrices=False)
        return u[:, 0] * s[0]

    def shares(self) -> Tensor:
        """Mean and factor of the start in units of the vector of the line."""
        line = self._line()
        columns = torch.cat([self.start.mean.unsqueeze(-1), self.start.factor], -1)
        return line @ columns / line.square().sum()

    def clock(self) -> RankOneClock:
        """The curve of that vector, with the rate of the variant."""
        return RankOneClock(self.value, self._line(), self._rate)

    def _rate(self, line: Tensor) -> Tensor:
        inner = ((line @ self.score) * line).sum(-1)
        if isinstance(self.member, Sinkhorn):
            return transport_mode(inner / self.member.eps) / self.member.eps
        if isinstance(self.member, L2):
            return 2 * inner / (1 + 2 * ((line @ self.squares) * line).sum(-1))
        return inner


def _moments(member: Attention, gaussian: Gaussian) -> Gaussian:
    still = torch.zeros_like(gaussian.mean)
    if not isinstance(member, Linear):
        return Gaussian.of_factor(still, gaussian.factor)
    both = torch.cat([gaussian.factor, gaussian.mean.unsqueeze(-1)], -1)
    return Gaussian.of_factor(still, both)
