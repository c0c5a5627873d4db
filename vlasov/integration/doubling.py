r"""Step doubling: an error estimate for methods that carry none.

.. math:: e = \frac{2^p}{2^p - 1} \left(x_h - x_{h/2,h/2}\right)
"""

__all__ = ["Doubled"]

import dataclasses
from dataclasses import dataclass
from functools import cached_property

from torch import Tensor

from vlasov.catalogue import Catalogue
from vlasov.errors import Unsupported
from vlasov.integration.field import Field, Time
from vlasov.integration.method import Method, OneStep
from vlasov.integration.splitting import Lie, Strang
from vlasov.integration.tableau import Step
from vlasov.integration.tableaux import TABLES

_INNER = Catalogue[OneStep]("integrator", [*(TABLES[name] for name in TABLES), Lie, Strang])


@dataclass(frozen=True)
class Doubled(OneStep):
    """Another one-step method, whose error is estimated by two half steps.

    The state is that of the whole step, so the trajectory is the inner method's own; three times
    the cost. `inner` is a method or its spec string.

    Source: Hairer, Norsett, Wanner, Solving ODEs I, II.4 (there the half steps are kept).

    Raises:
        UnknownName: for an inner method that no catalogue holds.
        Unsupported: for one that is not a one-step method.
    """

    name = "doubled"
    inner: str | Method = "rk4"
    order: int = dataclasses.field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "order", self.method.order)
        if (
            self.method.name in _INNER
        ):  # written as a spec, so that the catalogue can write it back
            object.__setattr__(self, "inner", _INNER.spec(self.method))

    @cached_property
    def method(self) -> OneStep:
        """The method that is doubled."""
        method = _INNER.build(self.inner) if isinstance(self.inner, str) else self.inner
        if not isinstance(method, OneStep):
            raise Unsupported(
                f"Step doubling compares single steps, but the integrator '{method.name}' has no "
                f"single step of a given size. Use its own error control, or double 'rk4'."
            )
        return method

    @property
    def error_order(self) -> int:
        """The estimate is the whole local error of the inner method."""
        return self.order + 1

    def step(
        self, field: Field, t: Time, x: Tensor, h: Time, first_slope: Tensor | None = None
    ) -> Step:
        """One step, and its difference from two half steps."""
        inner, half = self.method, h / 2
        whole = inner.step(field, t, x, h, first_slope)
        middle = inner.step(field, t, x, half, whole.first_slope)
        fine = inner.step(field, t + half, middle.x, half, middle.last_slope)
        gain = 2**self.order / (2**self.order - 1)
        return Step(whole.x, gain * (whole.x - fine.x), whole.first_slope, whole.last_slope)
