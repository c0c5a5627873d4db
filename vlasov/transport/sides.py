r"""The two clouds of entropic transport, and sums over them in memory of order n.

.. math:: f(x) = -\varepsilon \log \sum_j v_j\, e^{(g_j - |x-y_j|^2)/\varepsilon}

The plan of a potential g has exact rows: given x, the token y_j has the share of its term.
"""

__all__ = ["Side", "mean_squared_distance", "softmin"]

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from vlasov._shapes import LogWeights, Points
from vlasov.engines import ENGINES

_ENGINE = ENGINES["tiled"]()


@dataclass(frozen=True, eq=False)
class Side:
    """One of the two clouds: centred points in fp64, log weights that sum to one, none empty."""

    x: Points
    log_w: LogWeights

    def detach(self) -> "Side":
        """The same numbers without gradient."""
        return Side(self.x.detach(), self.log_w.detach())

    def mean(self, of_tokens: Float[Tensor, " n"]) -> Float[Tensor, ""]:
        """The average of a number per token."""
        return (self.log_w.exp() * of_tokens).sum()


def softmin(
    here: Side, there: Side, potential: Float[Tensor, " m"], eps: float
) -> Float[Tensor, " n"]:
    """The potential at the points `here` that belongs to one `there`; memory of order n."""
    squares = there.x.square().sum(-1)
    logits = (potential - squares) / eps + there.log_w
    log_sum = _ENGINE.log_sum(here.x * (2 / eps), there.x, logits)
    return here.x.square().sum(-1) - eps * log_sum


def mean_squared_distance(
    a: Side, b: Side, g: Float[Tensor, " m"], eps: float
) -> Float[Tensor, ""]:
    """The mean of |x-y|^2 under the plan of g with exact rows; memory of order n."""
    squares = b.x.square().sum(-1)
    values = torch.cat([b.x, squares[:, None]], dim=-1)
    seen = _ENGINE.average(a.x * (2 / eps), b.x, values, (g - squares) / eps + b.log_w)
    return a.mean((a.x * (a.x - 2 * seen[:, :-1])).sum(-1) + seen[:, -1])
