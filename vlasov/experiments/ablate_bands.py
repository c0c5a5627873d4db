"""Numbers of several seeds as one: means with the range they span."""

__all__ = ["GEOMETRIC", "Band", "band_of"]

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

GEOMETRIC = frozenset({"norm", "gradient", "weight_gradient", "update_ratio"})
"""Measures whose logarithms are averaged: their spread over seeds is log-normal (V48)."""


@dataclass(frozen=True, eq=False)
class Band:
    """By layer: mean, smallest and largest over the seeds that are finite; NaN where none is."""

    mean: Float[Tensor, " layers"]
    low: Float[Tensor, " layers"]
    high: Float[Tensor, " layers"]


def band_of(name: str, values: Float[Tensor, "seeds layers"]) -> Band:
    """The band of a measure.

    Example:
        >>> band_of("norm", torch.tensor([[1.0, 1.0], [1.0, 100.0]])).mean.tolist()
        [1.0, 10.0]
    """
    known = values.isfinite()
    none = ~known.any(0)
    geometric = name in GEOMETRIC
    mean = (values.log() if geometric else values).where(known, torch.nan).nanmean(0)
    low = values.where(known, torch.inf).amin(0)
    high = values.where(known, -torch.inf).amax(0)
    return Band(
        mean.exp() if geometric else mean,
        low.masked_fill(none, torch.nan),
        high.masked_fill(none, torch.nan),
    )
