r"""The distance of masked clouds: tokens move among those of their own position only.

.. math:: d_p(\mu, \nu) = \Bigl(\int W_p(\mu^s, \nu^s)^p\, \theta(ds)\Bigr)^{1/p}

for two clouds with the same position marginal :math:`\theta`, whose laws at the position s are
:math:`\mu^s` and :math:`\nu^s`. With one token at each position it is the distance token by token.

Source: spec section 1.4.
"""

__all__ = ["conditional_distance"]

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from vlasov.cloud import Cloud
from vlasov.errors import InvalidValue
from vlasov.transport.checks import checked_pair
from vlasov.transport.cost import pair_costs
from vlasov.transport.result import Distance
from vlasov.transport.roots import safe_root
from vlasov.transport.wasserstein import distance

_TOLERANCE = 1e-6  # weights typed by hand, or summed in fp32


def conditional_distance(a: Cloud, b: Cloud, p: float | int = 2) -> Distance:
    """The exact d_p of two clouds with positions, in fp64, with gradients.

    `gap` is the largest relative duality gap of all positions.

    Raises:
        InvalidValue: for a cloud without positions, different position marginals, or p below 1.
        ShapeMismatch: for a batch of clouds, or clouds of different widths.
        NotFinite: for points that are not finite.
        NotConverged: where no solver proves its optimum.

    Example:
        >>> a = Cloud([[0.0], [1.0]], positions=[0.0, 1.0])
        >>> conditional_distance(a, Cloud([[1.0], [0.0]], positions=[0.0, 1.0])).value.item()
        1.0
    """
    checked_pair(a, b, p)
    left, right = _groups(a, "first"), _groups(b, "second")
    theta = _common_marginal(left, right)
    alone = (left.counts == 1) & (right.counts == 1)
    powers = torch.zeros_like(theta)
    x, y = left.leaders(alone), right.leaders(alone)
    powers = powers.masked_scatter(alone, pair_costs(x, y, float(p), sphere=False))
    found = {int(i): distance(left.law(i), right.law(i), p) for i in (~alone).nonzero()[:, 0]}
    parts = [found[i].power if i in found else powers[i] for i in range(len(theta))]
    power = theta @ torch.stack(parts)
    gaps = [one.gap for one in found.values() if one.gap is not None]
    return Distance(
        safe_root(power, float(p)),
        power,
        float(p),
        "exact at each position",
        optimal=all(one.optimal for one in found.values()),
        gap=max(gaps, default=None),
        facts={"positions": len(theta), "tokens": a.n + b.n},
    )


@dataclass(frozen=True, eq=False)
class _Groups:
    """A cloud by positions, in their order; tokens without weight left out."""

    points: Float[Tensor, "n d"]
    weights: Float[Tensor, " n"]
    positions: Float[Tensor, " g"]
    place: Int[Tensor, " n"]
    counts: Int[Tensor, " g"]
    theta: Float[Tensor, " g"]

    def leaders(self, wanted: Tensor) -> Float[Tensor, "k d"]:
        """The only token of each wanted position."""
        held = wanted[self.place]
        return self.points[held][self.place[held].argsort()]

    def law(self, group: Tensor) -> Cloud:
        """The law of the tokens at one position."""
        held = self.place == group
        w = self.weights[held]
        return Cloud(self.points[held], w / w.sum())


def _groups(cloud: Cloud, name: str) -> _Groups:
    if cloud.positions is None:
        raise InvalidValue(
            f"The conditional distance needs positions but the {name} cloud has none. Add them "
            "with `with_positions`, or use `wasserstein`."
        )
    w = cloud.weights.to(device="cpu", dtype=torch.float64)
    w, held = w / w.sum(), w > 0
    s = cloud.positions.to(device="cpu", dtype=torch.float64)[held]
    positions, place, counts = s.unique(return_inverse=True, return_counts=True)
    theta = torch.zeros_like(positions).index_add(0, place, w[held])
    x = cloud.points.to(device="cpu", dtype=torch.float64)[held]
    return _Groups(x, w[held], positions, place, counts, theta)


def _common_marginal(a: _Groups, b: _Groups) -> Float[Tensor, " g"]:
    """The share of each position, the same in both clouds."""
    if len(a.positions) != len(b.positions) or bool((a.positions != b.positions).any()):
        odd = sorted(set(a.positions.tolist()) ^ set(b.positions.tolist()))
        raise InvalidValue(
            f"The conditional distance needs the same positions in both clouds but {len(odd)} are "
            f"in one only, the first {odd[0]:.6g}. Give both the same, or use `wasserstein` with "
            "positions among the coordinates."
        )
    gap, i = (a.theta - b.theta).abs().max(0)
    if float(gap) > _TOLERANCE:
        raise InvalidValue(
            f"The conditional distance needs equal weights at each position but at "
            f"{float(a.positions[i]):.6g} the clouds have {float(a.theta[i]):.6g} and "
            f"{float(b.theta[i]):.6g}. Make the position marginals agree."
        )
    return (a.theta + b.theta) / 2
