r"""The de-drifted frame :math:`z = e^{-tV} x`, for runs whose norms grow without end.

With V the sum of the heads' value maps, :math:`x' = \sum_h V_h m_h(x)` becomes

.. math:: z' = \sum_h e^{-tV} V_h e^{tV}\, m_h(z) - V z, \qquad
          \text{scores } \beta \langle Q e^{tV} z_i, K e^{tV} z_j \rangle

because row-normalised averages commute with linear maps. The scores grow like :math:`e^{2at}` with
a the largest real part of V's eigenvalues; their factor is capped where softmax has long been
hardmax to the last digit.

Source: rescaled tokens of predictions V35 (arXiv 2305.05465).
"""

__all__ = ["DeDrifted", "dedrifted"]

import math
from collections.abc import Iterable
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from vlasov._shapes import Points
from vlasov.errors import Unsupported
from vlasov.geometry import Euclid
from vlasov.pde.terms import Decay, LinearTerm
from vlasov.pde.transformer_pde import TransformerPDE
from vlasov.projections import ParameterPath, Projections


@dataclass(frozen=True, eq=False)
class RotatedPath(ParameterPath):
    """Constant projections seen from the moving frame ``z = exp(-tV) x``."""

    base: Projections
    drift: Float[Tensor, "d d"]
    growth: float

    @property
    def heads(self) -> int:
        return self.base.heads

    @property
    def width(self) -> int:
        return self.base.width

    def at(self, t: float | Tensor) -> Projections:
        eye = torch.eye(self.width, dtype=self.drift.dtype, device=self.drift.device)
        time = torch.as_tensor(t, dtype=self.drift.dtype, device=self.drift.device)[
            ..., None, None
        ]
        bounded = torch.linalg.matrix_exp(time * (self.drift - self.growth * eye))
        # both maps carry e^{at}: their product stays below the square root of the largest number
        cap = math.log(torch.finfo(self.drift.dtype).max) / 4
        scale = torch.exp(torch.clamp(self.growth * time, max=cap))
        frame = (scale * bounded)[..., None, :, :]
        maps = self.base.maps()
        value = maps["value"]
        if self.heads > 1:  # one head alone commutes with its own flow
            turn = bounded[..., None, :, :]
            value = torch.linalg.solve(turn, value @ turn)
        return Projections.of_maps(
            {"query": maps["query"] @ frame, "key": maps["key"] @ frame, "value": value}
        )

    def breakpoints(self, start: float, until: float) -> list[float]:
        return []

    def tensors(self) -> Iterable[Tensor]:
        return self.base.tensors()

    def to(
        self, *, device: torch.device | str | None = None, dtype: torch.dtype | None = None
    ) -> "RotatedPath":
        return RotatedPath(
            self.base.to(dtype=dtype, device=device),
            self.drift.to(dtype=dtype, device=device),
            self.growth,
        )


@dataclass(frozen=True, eq=False)
class DeDrifted:
    """An equation in the moving frame, with the way back."""

    pde: TransformerPDE
    drift: Float[Tensor, "d d"]

    def restore(self, t: float, z: Points) -> Points:
        """Tokens of the fixed frame, ``x = exp(tV) z``; overflows to infinity where x does."""
        return z @ torch.linalg.matrix_exp(t * self.drift.to(z)).mT


def dedrifted(pde: TransformerPDE, width: int) -> DeDrifted:
    """The same equation for ``z = exp(-tV) x``; at t = 0 both frames agree.

    Raises:
        Unsupported: outside R^d, for parameters along depth or with biases, for noise or
            non-linear terms, or for a variant whose rows are not normalised.
    """
    path = pde.projections if pde.projections is not None else Projections.identity(width)
    reason = _obstacle(pde, path)
    if reason is not None or not isinstance(path, Projections):
        raise Unsupported(
            "The de-drifted frame needs constant maps without biases, a row-normalised variant, "
            f"R^d, and no term but decay; found {reason}. Use the fixed frame."
        )
    drift = path.maps()["value"].sum(dim=0)
    growth = float(torch.linalg.eigvals(drift).real.max())
    moved = pde.replace(
        projections=RotatedPath(path, drift, growth), terms=(*pde.terms, LinearTerm(-drift))
    )
    return DeDrifted(moved, drift)


def _obstacle(pde: TransformerPDE, path: ParameterPath) -> str | None:
    """What stands in the way of the moving frame, in words."""
    found = {
        "parameters that change along depth": not isinstance(path, Projections)
        or any(not isinstance(m, Tensor) for m in (path.query, path.key, path.value)),
        "biases": isinstance(path, Projections) and path.has_biases,
        f"the geometry '{pde.geometry.name}'": not isinstance(pde.geometry, Euclid),
        "noise": pde.noise is not None,
        "a term other than decay": any(not isinstance(term, Decay) for term in pde.terms),
        f"the variant '{pde.attention.name}'": not pde.attention.row_stochastic,
    }
    return next((reason for reason, present in found.items() if present), None)
