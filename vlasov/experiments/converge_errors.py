r"""How far clouds of n tokens are from their limit, cloud by cloud.

.. math:: \Bigl(\frac1n \sum_i |X_i(t) - \Phi_t(X_i(0))|^2\Bigr)^{1/2}, \qquad
          |m^n - m|, \qquad |\Sigma^n - \Sigma|_F, \qquad
          \Bigl|\frac1n\sum_i \varphi(X_i) - \mathbb E \varphi(X)\Bigr|

with :math:`\varphi(x) = \cos(\langle e, x\rangle - \pi/4)` and :math:`\Phi_t` the flow of the
limit. Under a mask each is that of a position, and positions are joined by their root mean square:
moments of the conditional laws.
"""

__all__ = ["KINDS", "moment_errors", "moment_gaps"]

from jaxtyping import Float
from torch import Tensor

from vlasov.experiments.converge_moments import Moments, moments

KINDS = ("coupling", "mean", "covariance", "observable")
"""The errors that fall like n^{-1/2}, whatever the dimension."""


def moment_errors(
    x: Float[Tensor, "s n d"], carried: Float[Tensor, "s n d"], limit: Moments
) -> dict[str, Float[Tensor, " s"]]:
    """The errors of clouds sorted by position, against the tokens carried by the limit."""
    found = moments(x.unflatten(-2, (len(limit.mean), -1)))
    coupling = (x - carried).square().sum(-1).mean(-1).sqrt()
    return {"coupling": coupling, **moment_gaps(found, limit)}


def moment_gaps(found: Moments, limit: Moments) -> dict[str, Float[Tensor, "*batch"]]:
    """The distances of moments, positions joined."""
    gaps = {
        "mean": found.mean - limit.mean,
        "covariance": (found.cov - limit.cov).flatten(-2),
        "observable": (found.cosine - limit.cosine)[..., None],
    }
    return {name: gap.square().sum(-1).mean(-1).sqrt() for name, gap in gaps.items()}
