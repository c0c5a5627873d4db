r"""The metric on measures in which softmax attention descends its energy.

.. math:: g_\mu(v, v) = \int Z_\mu(x) \langle v, B^{-1} v\rangle d\mu, \qquad
          Z_\mu(x) = \int e^{y^T A x} d\mu(y)

for A symmetric and :math:`V = \sigma B A` with B symmetric positive definite; A carries beta.

Source: spec section 3. The name is of Castin et al., arXiv:2501.18322; this explicit form is
derived, and their normalisation may differ by a constant.
"""

__all__ = ["TwistedMetric", "twisted_metric"]

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from vlasov._numbers import Numbers, floating, require_finite
from vlasov._shapes import Points
from vlasov.attention import Softmax
from vlasov.cloud import Cloud
from vlasov.energies.gradient_flow import gradient_flow
from vlasov.engines import ENGINES
from vlasov.errors import NotPositive, ShapeMismatch, Unsupported
from vlasov.geometry import Euclid
from vlasov.pde import TransformerPDE

_ENGINE = ENGINES["tiled"]()

Shared = Float[Tensor, "*#batch n"]
"""Log weights of each cloud, or of all."""


@dataclass(frozen=True, init=False, eq=False)
class TwistedMetric:
    """The metric of given matrices A, and B or the identity.

    Example:
        >>> TwistedMetric([[-1.0]]).inverse.tolist()
        [[1.0]]
    """

    a: Float[Tensor, "d d"]
    inverse: Float[Tensor, "d d"]

    def __init__(self, a: Numbers, b: Numbers | None = None) -> None:
        """`inverse` becomes that of B.

        Raises:
            ShapeMismatch: for matrices that are not square, or of different widths.
            NotFinite: for NaN or infinity.
            NotPositive: for a matrix that is not symmetric, or a B that is not positive definite.
        """
        scores = floating(a, name="A")
        factor = torch.eye(*scores.shape[-1:]) if b is None else floating(b, name="B")
        factor = factor.to(scores)
        _require_square(scores, factor)
        for name, matrix in (("A", scores), ("B", factor)):
            require_finite(matrix, name=name)
            _require_symmetric(name, matrix)
        lowest = float(torch.linalg.eigvalsh(factor)[0])
        if not lowest > 0:
            raise NotPositive(
                f"The twisted metric needs a positive definite B but its smallest eigenvalue is "
                f"{lowest:.3g}. Take B = sigma V A^-1, or the identity for V = A or V = -A."
            )
        object.__setattr__(self, "a", scores)
        object.__setattr__(self, "inverse", torch.linalg.inv(factor))

    def log_mass(self, x: Points, log_w: Shared) -> Float[Tensor, "*batch n"]:
        """The logarithm of Z at each token; memory of order n."""
        a = self.a.to(x)
        return _ENGINE.log_sum(x @ a, x, log_w.to(x).expand(x.shape[:-1]))

    def squared_speed(self, x: Points, v: Points, log_w: Shared) -> Float[Tensor, "*batch"]:
        """The square of the speed of clouds `x` whose tokens move with velocities `v`."""
        squares = (v @ self.inverse.to(v) * v).sum(-1)
        return ((self.log_mass(x, log_w) + log_w.to(x)).exp() * squares).sum(-1)


def twisted_metric(pde: TransformerPDE, cloud: Cloud) -> TwistedMetric:
    """The metric in which a softmax equation in R^d descends its energy.

    Where A is singular, B is the identity if that serves, as for V = A and V = -A.

    Raises:
        Unsupported: for another attention, several heads, or maps without this structure, naming
            the condition that fails.
    """
    if not isinstance(pde.attention, Softmax) or not isinstance(pde.geometry, Euclid):
        raise Unsupported(
            "The twisted metric belongs to softmax attention in R^d but the equation has "
            f"'{pde.attention.name}' on '{pde.geometry.name}'; the other energies descend in "
            "plain W_2 (with B = I)."
        )
    flow = gradient_flow(pde, cloud)
    maps = flow.projections.maps()
    a = (flow.beta * maps["key"].mT @ maps["query"])[0]
    inverse = flow.structure.inverse
    if int(torch.linalg.matrix_rank(inverse, rtol=1e-10)) == cloud.d:
        b = torch.linalg.inv(inverse)
        return TwistedMetric((a + a.mT) / 2, (b + b.mT) / 2)
    if bool((inverse @ inverse - inverse).abs().max() > 1e-8):
        raise Unsupported(
            "A singular A leaves B open outside its range, and B = I does not serve V = sigma B "
            "A; choose B and write `TwistedMetric(a, b)`."
        )
    return TwistedMetric((a + a.mT) / 2)


def _require_square(a: Tensor, b: Tensor) -> None:
    if a.dim() != 2 or a.shape[0] != a.shape[1] or b.shape != a.shape:
        raise ShapeMismatch(
            f"The twisted metric needs square A and B of one width but got {tuple(a.shape)} and "
            f"{tuple(b.shape)}. For tokens on the line write [[a]]."
        )


def _require_symmetric(name: str, matrix: Tensor) -> None:
    gap = float((matrix - matrix.mT).abs().max())
    if gap > 1e-10 * float(matrix.abs().max()):
        raise NotPositive(
            f"The twisted metric needs a symmetric {name} but two mirrored entries differ by "
            f"{gap:.3g}. Only for such maps does softmax attention descend an energy."
        )
