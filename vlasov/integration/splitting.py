r"""Splitting methods: the parts of a field are stepped one after the other.

.. math:: \text{Lie: } \Phi^h = \Phi^h_m \circ \dots \circ \Phi^h_1, \qquad
          \text{Strang: } \Phi^h = \Phi^{h/2}_1 \circ \dots \circ \Phi^h_m \circ \dots \circ
          \Phi^{h/2}_1
"""

__all__ = ["Lie", "Strang"]

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from torch import Tensor

from vlasov.errors import Unsupported
from vlasov.integration.field import Field, SplitField, Time, WatchedField
from vlasov.integration.method import OneStep, RungeKutta
from vlasov.integration.tableau import Step
from vlasov.integration.tableaux import TABLES


def _parts(field: Field, method: str) -> Sequence[Field]:
    parts = field.parts if isinstance(field, SplitField | WatchedField) else (field,)
    if len(parts) < 2:
        raise Unsupported(
            f"The integrator '{method}' steps the parts of a field one after the other, but this "
            f"field has one part. Add a term to the equation, or use 'rk4'."
        )
    return parts


class _Splitting(OneStep):
    """A method that steps parts with an inner method."""

    inner: str

    @cached_property
    def _inner(self) -> RungeKutta:
        return TABLES.build(self.inner)


@dataclass(frozen=True)
class Lie(_Splitting):
    """Lie splitting: each part over the whole step, in order; a sequential Transformer block.

    `inner` is the Runge-Kutta method of each part.

    Source: H. F. Trotter (1959); Hairer, Lubich, Wanner, Geometric Numerical Integration, II.5.

    Raises:
        Unsupported: when stepping a field that has no parts.
    """

    name = "lie"
    order = 1
    inner: str = "rk4"

    def __post_init__(self) -> None:
        TABLES.build(self.inner)  # an unknown name is refused here, not in the first step

    def step(
        self, field: Field, t: Time, x: Tensor, h: Time, first_slope: Tensor | None = None
    ) -> Step:
        """One step of each part."""
        for part in _parts(field, self.name):
            x = self._inner.step(part, t, x, h).x
        return Step(x)


@dataclass(frozen=True)
class Strang(_Splitting):
    """Strang splitting: half steps of all parts but the last, a step of the last, and back again.

    `inner` is the Runge-Kutta method of each part; its order should be at least 2.

    Source: G. Strang, SIAM J. Numer. Anal. 5 (1968) 506-517; Hairer, Lubich, Wanner, II.5.

    Raises:
        Unsupported: when stepping a field that has no parts.
    """

    name = "strang"
    order = 2
    inner: str = "rk4"

    def __post_init__(self) -> None:
        TABLES.build(self.inner)  # an unknown name is refused here, not in the first step

    def step(
        self, field: Field, t: Time, x: Tensor, h: Time, first_slope: Tensor | None = None
    ) -> Step:
        """Half steps forth, one whole step, half steps back."""
        *outer, last = _parts(field, self.name)
        half = h / 2
        for part in outer:
            x = self._inner.step(part, t, x, half).x
        x = self._inner.step(last, t, x, h).x
        for part in reversed(outer):
            x = self._inner.step(part, t + half, x, half).x
        return Step(x)
