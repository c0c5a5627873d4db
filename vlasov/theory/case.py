"""The equation and the law that statements are about, looked at once."""

__all__ = ["Case", "Start", "case_of"]

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from vlasov.attention import Attention
from vlasov.cloud import Cloud
from vlasov.errors import InvalidValue, ShapeMismatch
from vlasov.gaussian import Gaussian
from vlasov.observables.extent import MaxNorm
from vlasov.observables.moments import covariance, mean
from vlasov.pde import TransformerPDE
from vlasov.reduction.closed_forms import rounding
from vlasov.reduction.heads import Heads, heads_of, obstacle

Start = Cloud | Gaussian


@dataclass(frozen=True, eq=False)
class Case:
    """An equation and a law at time 0.

    Attributes:
        pde: the equation.
        law: the law, or the Gaussian with the moments of the cloud.
        cloud: the cloud; None for a Gaussian law.
        radius: the largest norm in the support, infinite for a Gaussian.
        until: the time up to which bounds are evaluated.
        heads: the constant maps; None where the equation has more.
    """

    pde: TransformerPDE
    law: Gaussian
    cloud: Cloud | None
    radius: float
    until: float
    heads: Heads | None

    @property
    def members(self) -> tuple[Attention, ...]:
        """The variants of the heads; none where the equation has more than constant maps."""
        return () if self.heads is None else self.heads.members

    def only(self, *kinds: type[Attention]) -> bool:
        """Whether all heads are of these variants, with constant maps alone."""
        return bool(self.members) and all(isinstance(one, kinds) for one in self.members)

    def one(self, *kinds: type[Attention]) -> bool:
        """Whether there is one head, unmasked and of these variants."""
        return len(self.members) == 1 and self.only(*kinds) and self.pde.mask is None

    def matrices(self) -> tuple[Tensor, Tensor]:
        """The maps V and A of the first head."""
        if self.heads is None:
            raise InvalidValue("Constant maps are wanted but the equation has more; freeze it.")
        return self.heads.value[0], self.heads.score[0]

    @property
    def centred(self) -> Gaussian:
        """The law moved to mean 0."""
        return Gaussian.of_factor(torch.zeros_like(self.law.mean), self.law.factor)

    @property
    def rounding(self) -> float:
        """Relative differences that rounding of the maps explains."""
        return rounding(self.law.mean)


def case_of(pde: TransformerPDE, start: Start, until: float) -> Case:
    """The case of one cloud or one law.

    Raises:
        ShapeMismatch: for a batch of laws or of maps.
        InvalidValue: for a time that is not finite and positive.
    """
    if not 0 < until < math.inf:
        raise InvalidValue(f"until must be a finite time above 0 but got {until}; give one.")
    if start.batch_shape:
        raise ShapeMismatch(
            f"Statements are about one law but got a batch of shape {tuple(start.batch_shape)}; "
            "ask for its members one by one."
        )
    if isinstance(start, Cloud):
        cloud = start.to(dtype=torch.promote_types(start.points.dtype, torch.float32))
        law, radius = Gaussian(mean(cloud), covariance(cloud)), float(MaxNorm()(cloud))
    else:
        cloud, law = None, start
        radius = math.inf if bool(law.factor.any()) else float(law.mean.norm())
    heads = heads_of(pde, law.mean, masked=True) if obstacle(pde, masked=True) is None else None
    if heads is not None and heads.value.dim() > 3:
        raise ShapeMismatch(
            "Statements are about one set of maps but these have batch axes; ask one by one."
        )
    return Case(pde, law, cloud, radius, until, heads)
