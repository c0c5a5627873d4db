"""The settings of a diffusion layer, checked before there is a parameter."""

__all__ = ["KINDS", "LARGEST_ALPHA", "MOST_STEPS", "Diffusion"]

import math
from dataclasses import dataclass

from vlasov._fields import require_kinds
from vlasov.catalogue import nearest
from vlasov.errors import InvalidValue, Unsupported

KINDS = ("explicit", "implicit", "exact")

MOST_STEPS = 1000
"""Steps of a layer, each of which keeps a state."""

LARGEST_ALPHA = 0.5 * (1 - 2.0**-14)
"""What the strength of an explicit scale stays below: 1/2 with a margin for rounding."""


@dataclass(frozen=True)
class Diffusion:
    r"""One smoothing of tokens along their positions.

    Args:
        scales: strides h of the stencils.
        weights: shares of the scales, divided by their sum; None for 1, 0.6, 0.3 and from there
            on half of the one before.
        alpha: strength of every scale and channel at the start.
        steps: how often the same step is made.
        norm: whether a LayerNorm follows each step.
        kind: ``explicit`` makes the step :math:`x + \sum_h w_h \alpha_h \Delta_h x`, ``implicit``
            solves :math:`y - \alpha \Delta y = x`, ``exact`` is the heat flow
            :math:`e^{\alpha\Delta} x`; the last two have the scale 1.
        conservative: whether a neighbour beyond the end counts as the token itself, so that means
            are kept, instead of as the end token.
        transposed: whether the transposed step is made: on values of attention, that is the step
            on the attention weights along the keys.

    Raises:
        InvalidValue: for numbers outside their range, or a field of another type.
        UnknownName: for an unknown kind.
        Unsupported: for several scales of an implicit or exact step.
    """

    scales: tuple[int, ...] = (1, 2, 4)
    weights: tuple[float, ...] | None = None
    alpha: float = 0.1
    steps: int = 1
    norm: bool = False
    kind: str = "explicit"
    conservative: bool = False
    transposed: bool = False

    def __post_init__(self) -> None:
        require_kinds(self)
        if self.kind not in KINDS:
            raise nearest(self.kind, KINDS, kind="kind of diffusion")
        if not self.scales or min(self.scales) < 1 or len({*self.scales}) < len(self.scales):
            raise InvalidValue(
                f"The scales must be different whole numbers from 1 but are {self.scales}; "
                "write them as 1,2,4."
            )
        if not 1 <= self.steps <= MOST_STEPS:
            raise InvalidValue(
                f"'steps' must lie between 1 and {MOST_STEPS} but is {self.steps}; each keeps one "
                "state for gradients. Take kind=exact for long times."
            )
        self._check_weights()
        self._check_alpha()
        if self.kind != "explicit" and self.scales != (1,):
            raise Unsupported(
                f"The {self.kind} step is made for the scale 1 but the scales are {self.scales}: "
                "stencils of several strides do not commute at the ends; take kind='explicit'."
            )

    def _check_weights(self) -> None:
        if self.weights is None:
            return
        usable = math.isfinite(sum(self.weights)) and min(self.weights, default=0) > 0
        if len(self.weights) != len(self.scales) or not usable:
            raise InvalidValue(
                f"The weights must be {len(self.scales)} numbers above 0, one per scale, but are "
                f"{self.weights}; leave out a scale that should not act."
            )

    def _check_alpha(self) -> None:
        explicit = self.kind == "explicit"
        bound = LARGEST_ALPHA if explicit else math.inf
        if not 0 < self.alpha < bound:
            wanted = (
                f"between 0 and {bound:.5f}, where the step is stable," if explicit else "above 0"
            )
            raise InvalidValue(
                f"The strength alpha must lie {wanted} but is {self.alpha}; the start of the "
                "paper is 0.1."
            )

    @property
    def shares(self) -> tuple[float, ...]:
        """The weights, with sum 1."""
        given = self.weights or _usual_weights(len(self.scales))
        return tuple(weight / sum(given) for weight in given)


def _usual_weights(count: int) -> tuple[float, ...]:
    """1 : 0.6 : 0.3 of the paper, continued by halves."""
    first = (1.0, 0.6, 0.3)
    return (*first[:count], *(0.3 / 2**number for number in range(1, count - 2)))
