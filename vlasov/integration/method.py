"""What a time-stepping method is: one step of a field, with an error estimate where it has one."""

__all__ = ["Method", "OneStep", "RungeKutta", "Stochastic"]

import abc
from typing import ClassVar

from torch import Tensor

from vlasov.integration.field import Field, Time
from vlasov.integration.noise import Noise
from vlasov.integration.tableau import Step, Tableau


class Method(abc.ABC):
    """A way to cross time; a frozen dataclass of settings."""

    name: ClassVar[str]
    order: int
    """Global order of the error in the step size."""


class OneStep(Method):
    """A method that needs nothing but the state at the begin of a step."""

    @property
    def error_order(self) -> int | None:
        """Power of the step size in the local error estimate; None where there is no estimate."""
        return None

    @abc.abstractmethod
    def step(
        self, field: Field, t: Time, x: Tensor, h: Time, first_slope: Tensor | None = None
    ) -> Step:
        """One step of size `h`; `first_slope` is the field at the begin where it is known."""


class Stochastic(abc.ABC):
    """A method that can be driven by noise."""

    @abc.abstractmethod
    def noisy_step(
        self, field: Field, t: float, x: Tensor, h: float, *, noise: Noise, xi: Tensor
    ) -> Tensor:
        """One step under the ambient noise increment `xi`."""


class RungeKutta(OneStep):
    """An explicit Runge-Kutta method, given by its tableau."""

    tableau: ClassVar[Tableau]
    embedded_order: ClassVar[int | None] = None
    """Order of the embedded method that the error weights compare with."""

    @property
    def error_order(self) -> int | None:
        """One more than the lower order of the pair: it compares single steps."""
        return None if self.embedded_order is None else min(self.order, self.embedded_order) + 1

    def step(
        self, field: Field, t: Time, x: Tensor, h: Time, first_slope: Tensor | None = None
    ) -> Step:
        """One step of the tableau."""
        return self.tableau.step(field, t, x, h, first_slope)
