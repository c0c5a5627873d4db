r"""The continuous system without norms that has the weights of a network.

.. math:: \dot x_i = \mathrm{attention}_l(x_i; \mu) + \mathrm{MLP}_l(x_i) + \ldots, \qquad
          t \in [l, l + 1)

Its layers last one unit of time each. Parts can be switched off, and diffusion along positions and
a pull to unit norm added. Without residual connections a layer has no such limit: the iteration
x <- dt F(x) tends to 0 with dt (prediction V52), and only the map of unit step is left.
"""

__all__ = ["Switches", "flow_states"]

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from vlasov.cloud import Cloud
from vlasov.errors import InvalidValue, Unsupported
from vlasov.experiments.ablate_network import Subject
from vlasov.experiments.ablate_terms import PARTS, Diffusion, LocalPart
from vlasov.pde import TransformerPDE
from vlasov.projections import Projections
from vlasov.solve import simulate

_OFF = "none"
_STABLE = 2.785  # rate times step up to which RK4 does not grow a decaying mode


@dataclass(frozen=True)
class Switches:
    """Which parts of the continuous system are on."""

    attention: bool
    mlp: bool
    terms: tuple[LocalPart, ...] = ()

    @classmethod
    def read(cls, parts: Sequence[str]) -> "Switches | None":
        """The parts of the settings; None where the system is not wanted.

        Raises:
            UnknownName: for a part that does not exist.
        """
        if tuple(parts) == (_OFF,):
            return None
        own = {"attention", "mlp"}
        terms = tuple(PARTS.build(part) for part in parts if part not in own)
        return cls("attention" in parts, "mlp" in parts, terms)

    def require(self, *, substeps: int, causal: bool) -> None:
        """Refuse steps too large for the parts, and what lets a token see later ones.

        The step in question is the coarse one that the resolution is judged by.

        Raises:
            InvalidValue: for rates beyond the range in which RK4 is stable.
            Unsupported: for diffusion, which has two sides, under a causal mask.
        """
        if causal and any(isinstance(term, Diffusion) for term in self.terms):
            raise Unsupported(
                "Diffusion along positions takes from later tokens, which a causal mask hides. "
                "Drop it from --pde, or drop --causal."
            )
        fastest = sum(term.fastest for term in self.terms)
        coarse = max(1, substeps // 2)
        if fastest > _STABLE * coarse:
            raise InvalidValue(
                f"Steps of 1/{coarse} layer are stable for rates of the parts up to "
                f"{_STABLE * coarse:.3g} but theirs sum to {fastest:.3g}. Lower the rates, or "
                f"give --substeps {2 * math.ceil(fastest / _STABLE)}."
            )

    def equation(self, subject: Subject) -> TransformerPDE:
        """The equation with the weights of a network."""
        pde, x = subject.network.equation(mlp=self.mlp), subject.points
        pde = pde.replace(terms=(*pde.terms, *self.terms))
        if self.attention:
            return pde
        nothing = x.new_zeros(x.shape[-1], x.shape[-1])
        return pde.replace(projections=Projections(nothing, nothing, nothing))


def flow_states(switches: Switches, subject: Subject, *, substeps: int) -> list[Tensor]:
    """The tokens at the ends of layers, from the start; NaN after a blow-up."""
    depth = subject.network.depth
    cloud = Cloud.from_log_weights(subject.points, subject.log_w)
    with torch.no_grad():
        run = simulate(
            switches.equation(subject),
            cloud,
            until=float(depth),
            step=1 / substeps,
            integrator="rk4",
            save_every=substeps,
        )
    states = list(run.points[: depth + 1])
    lost = torch.full_like(subject.points, torch.nan)
    return states + [lost] * (depth + 1 - len(states))
