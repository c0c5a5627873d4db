"""The closed form beside a reduction: where there is one, and how far the run is from it."""

__all__ = ["Reference", "reference_of"]

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from vlasov.gaussian import Gaussian
from vlasov.pde import TransformerPDE
from vlasov.reduction.cases import ClosedForm
from vlasov.reduction.exact import closed_form
from vlasov.reduction.result import Reduction

_EARLY = 0.9  # of the blow-up time: beyond, a difference tells of that time alone


@dataclass(frozen=True, eq=False)
class Reference:
    """A closed form for one law.

    Attributes:
        form: the solution, with the name of its case.
        blow_up_time: where it ends; None where it exists for all times.
    """

    form: ClosedForm
    blow_up_time: float | None

    def laws(self, times: Float[Tensor, " f"]) -> Gaussian:
        """The laws at times before the blow-up."""
        return self.form.at(times)

    def frames(self, reduction: Reduction) -> int:
        """How many frames of a run lie before the blow-up, its last one excepted."""
        times = reduction.times
        if self.blow_up_time is None:
            return len(times)
        last = len(times) - (reduction.status == "blow-up")
        return min(last, int((times < self.blow_up_time).sum()))

    def differences(self, reduction: Reduction) -> Float[Tensor, " f"]:
        r"""The larger of :math:`|\Sigma - S|_F / |S|_F` and :math:`|m - a| / (|a| + |S|^{1/2})`.

        S and a are the exact covariance and mean at each of the `frames`.
        """
        count = self.frames(reduction)
        exact = self.laws(reduction.times[:count].to(reduction.mean))
        size = torch.linalg.matrix_norm(exact.cov)
        wide = torch.linalg.matrix_norm(reduction.cov[:count] - exact.cov)
        far = torch.linalg.vector_norm(reduction.mean[:count] - exact.mean, dim=-1)
        reach = torch.linalg.vector_norm(exact.mean, dim=-1) + size.sqrt()
        shares = [
            torch.where(unit > 0, gap / torch.where(unit > 0, unit, 1.0), gap)
            for gap, unit in ((wide, size), (far, reach))
        ]
        return torch.maximum(*shares)

    def largest(self, reduction: Reduction) -> float:
        """The largest difference up to 0.9 of the blow-up time."""
        found = self.differences(reduction)
        if self.blow_up_time is not None:
            found = found[reduction.times[: len(found)].to(found) <= _EARLY * self.blow_up_time]
        return float(found.max())


def reference_of(pde: TransformerPDE, law: Gaussian, *, wanted: Sequence[float] = ()) -> Reference:
    """The closed form of an equation and a law, tried at the times wanted.

    Raises:
        Unsupported: where no closed form is known, naming what stands in the way.
        InvalidValue: for a time at or past the blow-up, which the message names.
    """
    form = closed_form(pde.replace(mask=None), law)
    end = float(form.blow_up_time())
    if wanted:
        form.at(torch.tensor(wanted).to(law.mean))
    return Reference(form, end if math.isfinite(end) else None)
