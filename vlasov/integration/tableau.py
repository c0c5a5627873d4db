r"""A Butcher tableau that checks itself, and the step it describes.

.. math:: k_i = f(t + c_i h,\; x + h \sum_{j<i} a_{ij} k_j), \qquad
          x_1 = x + h \sum_i b_i k_i, \qquad e = h \sum_i (b_i - \hat b_i) k_i

With a coarser estimate c beside e, the error is :math:`e^2 / (e^2 + c^2/100)^{1/2}` (Hairer,
Norsett, Wanner, Solving ODEs I, II.10).
"""

__all__ = ["Coefficient", "Step", "Tableau"]

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

import torch
from torch import Tensor

from vlasov.errors import InvalidValue
from vlasov.integration.field import Field, Time, spread

Coefficient = Fraction | float | int

_ROUND_OFF = 1e-14  # decimal tables (Tsitouras) satisfy their sums to the last digit given


class Step(NamedTuple):
    """What one step found."""

    x: Tensor
    error: Tensor | None = None
    """Estimated local error; None where the method has no estimate."""
    first_slope: Tensor | None = None
    """Field at the begin of the step."""
    last_slope: Tensor | None = None
    """Field at the end of the step, where the method evaluates it there."""


@dataclass(frozen=True)
class Tableau:
    """Coefficients of an explicit Runge-Kutta method, with an embedded one for the error.

    Raises:
        InvalidValue: if rows are not lower triangular, a node is not the sum of its row,
            the weights do not sum to one, or the error weights to zero.
    """

    rows: tuple[tuple[Coefficient, ...], ...]
    nodes: tuple[Coefficient, ...]
    weights: tuple[Coefficient, ...]
    error_weights: tuple[Coefficient, ...] | None = None
    coarse_error_weights: tuple[Coefficient, ...] | None = None

    def __post_init__(self) -> None:
        for i, row in enumerate(self.rows):
            self._check(len(row) == i, f"row {i} must have {i} entries but has {len(row)}")
            self._check(_equal(sum(row), self.nodes[i]), f"row {i} must sum to its node")
        stages = len(self.rows)
        self._check(len(self.nodes) == stages, f"{stages} rows need {stages} nodes")
        self._check(len(self.weights) == stages, f"{stages} rows need {stages} weights")
        self._check(_equal(sum(self.weights), 1), "the weights must sum to 1")
        for given in filter(None, (self.error_weights, self.coarse_error_weights)):
            self._check(len(given) == stages, f"{stages} rows need {stages} error weights")
            self._check(_equal(sum(given), 0), "the error weights must sum to 0")

    @staticmethod
    def _check(holds: bool, wanted: str) -> None:
        if not holds:
            raise InvalidValue(f"Not a Butcher tableau: {wanted}. Compare it with its source.")

    @cached_property
    def first_same_as_last(self) -> bool:
        """Whether the last stage is the field at the end of the step."""
        return self.nodes[-1] == 1 and (*self.rows[-1], 0) == tuple(self.weights)

    @cached_property
    def _terms(self) -> tuple["_Terms", ...]:
        return tuple(_nonzero(row) for row in self.rows[1:])

    @cached_property
    def _weight_terms(self) -> "_Terms":
        return _nonzero(self.weights)

    @cached_property
    def _error_terms(self) -> "_Terms":
        return _nonzero(self.error_weights or ())

    @cached_property
    def _coarse_terms(self) -> "_Terms":
        return _nonzero(self.coarse_error_weights or ())

    @cached_property
    def _times(self) -> tuple[float, ...]:
        return tuple(float(node) for node in self.nodes[1:])

    def step(
        self, field: Field, t: Time, x: Tensor, h: Time, first_slope: Tensor | None = None
    ) -> Step:
        """One step of size `h` from time `t`; `h` is a number, or one per system of a batch."""
        wide = spread(h, x).to(x.dtype) if isinstance(h, Tensor) else h
        slopes = [field(t, x) if first_slope is None else first_slope]
        point = x
        for node, terms in zip(self._times, self._terms, strict=True):
            point = _moved(x, _weighted(terms, slopes), wide)
            slopes.append(field(t + node * h, point))
        if not self.first_same_as_last:
            point = _moved(x, _weighted(self._weight_terms, slopes), wide)
        error = wide * _weighted(self._error_terms, slopes) if self._error_terms else None
        if error is not None and self._coarse_terms:
            error = _joint(error, wide * _weighted(self._coarse_terms, slopes))
        return Step(point, error, slopes[0], slopes[-1] if self.first_same_as_last else None)


_Terms = tuple[tuple[int, float], ...]


def _equal(found: Coefficient, wanted: Coefficient) -> bool:
    return abs(found - wanted) <= _ROUND_OFF


def _nonzero(row: tuple[Coefficient, ...]) -> _Terms:
    return tuple((j, float(a)) for j, a in enumerate(row) if a != 0)


def _weighted(terms: _Terms, slopes: list[Tensor]) -> Tensor:
    """The sum of the slopes with their coefficients, before it meets `x`: one rounding there."""
    (first, a), *rest = terms
    if not rest and a == 1.0:
        return slopes[first]
    total = slopes[first] * a
    for j, b in rest:
        total = torch.add(total, slopes[j], alpha=b)
    return total


def _moved(x: Tensor, slope: Tensor, h: Time) -> Tensor:
    if isinstance(h, Tensor):
        return torch.addcmul(x, h, slope)
    return torch.add(x, slope, alpha=h)


def _joint(error: Tensor, coarse: Tensor) -> Tensor:
    """A fine and a coarse estimate of the same error; 0 where both are."""
    size = (error.square() + (coarse / 10).square()).sqrt()
    return error.abs() * (error.abs() / torch.where(size == 0, 1.0, size))
