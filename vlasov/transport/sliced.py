r"""The sliced distance: transport on many lines instead of in space.

.. math:: SW_p^p = \int_{S^{d-1}} W_p^p(\theta^T \mu, \theta^T \nu)\, d\theta

with the uniform law of total mass one on the directions, so :math:`SW_2 \le W_2 / \sqrt d` with
equality for a translation.

Source: Bonneel et al., J. Math. Imaging Vis. 51 (2015).
"""

__all__ = ["sliced"]

import torch
from jaxtyping import Float
from torch import Tensor

from vlasov.cloud import Cloud
from vlasov.transport.checks import checked_pair
from vlasov.transport.record import rescaled
from vlasov.transport.result import Distance
from vlasov.transport.slices import slice_powers, unit_directions
from vlasov.transport.statistics import averaged


def sliced(
    a: Cloud,
    b: Cloud,
    p: float | int = 2,
    *,
    directions: int | Float[Tensor, "k d"] = 200,
    generator: torch.Generator | None = None,
) -> Distance:
    """The p-th root of the mean p-th power over directions: an estimate, with its standard error.

    A number of directions is drawn uniformly by `generator` (one with seed 0 where none is
    given). Rows of a tensor are directions; their length does not matter, and the mean over them
    is taken as it is, without an error.

    Raises:
        InvalidValue: for no direction, or one of length 0.
        ShapeMismatch: for directions of another width.

    Example:
        >>> cloud = Cloud([[0.0, 0.0], [1.0, 0.0]])
        >>> moved = Cloud([[3.0, 0.0], [4.0, 0.0]])
        >>> sliced(cloud, moved, directions=torch.eye(2)).power.item()
        4.5
    """
    pair = checked_pair(a, b, p).scaled()
    theta = unit_directions(directions, a.d, generator)
    powers = torch.cat(list(slice_powers(pair, theta)))
    drawn = isinstance(directions, int)
    mean, facts = averaged(powers, p=pair.p, scale=pair.scale, name="directions", drawn=drawn)
    method = f"sliced over {len(theta)} directions (estimate)"
    return rescaled(mean, p=pair.p, scale=pair.scale, method=method, optimal=False, facts=facts)
