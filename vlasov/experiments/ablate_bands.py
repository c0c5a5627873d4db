r"""Numbers of several seeds as one: means with their intervals of confidence.

.. math:: \bar x \pm t_{0.975,\,n - 1}\, s / \sqrt n

for n finite seeds of standard deviation s; of logarithms where the spread is log-normal.
"""

__all__ = ["GEOMETRIC", "Band", "band_of"]

import math
from collections.abc import Mapping
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from vlasov.experiments.intervals import half_width

GEOMETRIC = frozenset(
    {"norm", "gradient", "weight_gradient", "update_ratio", "loss", "rank_one_distance", "w2_step"}
)
"""Positive measures whose logarithms are averaged: their spread is close to log-normal (V48)."""


_POSSIBLE: Mapping[str, tuple[float, float]] = {
    "token_cosine": (-1.0, 1.0),
    "input_cosine": (-1.0, 1.0),
    "cosine_to_limit": (-1.0, 1.0),
    "cosine_to_pde": (-1.0, 1.0),
    "limit_agreement": (-1.0, 1.0),
    "effective_rank": (0.0, math.inf),
    "rank_one_distance": (0.0, 1.0),
}
"""Intervals end where the values do."""


@dataclass(frozen=True, eq=False)
class Band:
    """By layer: the mean over the finite seeds, NaN where none is, and the ends of its interval.

    The interval holds the expected value in 95 % of all draws; below two seeds it is NaN.
    """

    mean: Float[Tensor, " layers"]
    low: Float[Tensor, " layers"]
    high: Float[Tensor, " layers"]


def band_of(name: str, values: Float[Tensor, "seeds layers"]) -> Band:
    """The band of a measure.

    Example:
        >>> band_of("norm", torch.tensor([[1.0, 1.0], [1.0, 100.0]])).mean.tolist()
        [1.0, 10.0]
    """
    geometric = name in GEOMETRIC
    known = values.isfinite()
    kept = (values.log() if geometric else values).where(known, torch.nan)
    mean = kept.nanmean(0)
    count = known.sum(0)
    spread = ((kept - mean).square().nansum(0) / (count - 1).clamp(min=1)).sqrt()
    half = torch.from_numpy(half_width(spread.numpy(), count.numpy())).to(spread)
    ends = (mean, mean - half, mean + half)
    ends = (one.exp() if geometric else one for one in ends)
    return Band(*(one.clamp(*_POSSIBLE.get(name, (-math.inf, math.inf))) for one in ends))
