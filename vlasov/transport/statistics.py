r"""The mean over random projections and its standard error.

.. math:: \hat m = \frac1k \sum_i m_i, \qquad
          \mathrm{se}(\hat m^{1/p}) \approx \frac{\mathrm{se}(\hat m)}{p}\, \hat m^{1/p - 1}
"""

__all__ = ["averaged"]

from jaxtyping import Float
from torch import Tensor


def averaged(
    powers: Float[Tensor, " k"], *, p: float, scale: float, name: str, drawn: bool
) -> tuple[Float[Tensor, ""], dict[str, float | int | str]]:
    """The mean of p-th powers, and the facts of the estimate.

    The standard error is that of the distance, in units of the points; a single projection and
    projections that were not drawn have none.
    """
    mean, k = powers.mean(), len(powers)
    facts: dict[str, float | int | str] = {name: k}
    if drawn and k > 1:
        level = float(mean.detach())
        error = float(powers.detach().std()) / k**0.5
        facts["standard error"] = scale * error * level ** (1 / p - 1) / p if level > 0 else 0.0
    return mean, facts
