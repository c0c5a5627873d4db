"""The systems of a batch, as one equation and one law with a flat batch axis."""

__all__ = ["Systems"]

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from vlasov.gaussian import Gaussian
from vlasov.pde import TransformerPDE
from vlasov.pde.gaussian_field import GaussianField
from vlasov.projections import Projections
from vlasov.projections.maps import own_axes

_NUMBERS = 2**16  # of the state of a block: larger arrays leave the cache at every operation


@dataclass(frozen=True, eq=False)
class Systems:
    """Some systems; `separable` if any of them can be taken out, which takes constant maps."""

    pde: TransformerPDE
    law: Gaussian
    batch: tuple[int, ...]
    positions: str | None
    separable: bool

    @classmethod
    def of(
        cls, pde: TransformerPDE, law: Gaussian, batch: tuple[int, ...], positions: str | None
    ) -> "Systems":
        """All systems of an equation and a law, which broadcast to `batch`."""
        maps = _constant(pde)
        if not batch or maps is None:
            return cls(pde, law, batch, positions, separable=False)
        d, last = law.d, len(batch) - 1
        flat = Gaussian.of_factor(
            law.mean.expand(*batch, d).reshape(-1, d),
            law.factor.expand(*batch, *law.factor.shape[-2:]).flatten(0, last),
        )
        if maps:
            pde = pde.replace(projections=Projections.of_maps(_flat(maps, batch)))
        return cls(pde, flat, (math.prod(batch),), positions, separable=True)

    def take(self, index: Tensor) -> "Systems":
        """Those of the given flat indices, in this order."""
        law = Gaussian.of_factor(self.law.mean[index], self.law.factor[index])
        pde, maps = self.pde, _constant(self.pde)
        if maps:
            pde = pde.replace(projections=Projections.of_maps(_taken(maps, index)))
        return Systems(pde, law, (len(index),), self.positions, self.separable)

    def centred(self, t: float) -> tuple[GaussianField, Tensor]:
        """The field of the flow about the mean, and its first state.

        States ``[A | mean]`` carry the law that was moved to the origin: near a blow-up
        ``A mean + b`` would cancel.
        """
        at_origin = Gaussian.of_factor(torch.zeros_like(self.law.mean), self.law.factor)
        field = self.pde.gaussian_field(at_origin, positions=self.positions)
        initial = field.initial(t)
        initial[..., self.law.d] += self.law.mean
        return field, initial

    def blocks(self, rate: Tensor) -> list[Tensor]:
        """Flat indices of parts that fit the cache, the slow systems first.

        A part takes as many steps as its fastest system, so like goes with like.
        """
        d = self.law.d
        size = max(1, _NUMBERS // (d * (d + 1)))
        members = math.prod(self.batch)
        if not self.separable or members <= size:
            return [torch.arange(members)]
        return list(rate.reshape(-1).nan_to_num(torch.inf).argsort().split(size))


def _constant(pde: TransformerPDE) -> dict[str, Tensor] | None:
    """The maps by name, none where they are the identity; None if they depend on time."""
    path = pde.projections
    if path is None:
        return {}
    return path.maps() if isinstance(path, Projections) and path.at(0.0) is path else None


def _flat(maps: dict[str, Tensor], batch: tuple[int, ...]) -> dict[str, Tensor]:
    """Maps with one batch axis, or none where they had none."""
    last = len(batch) - 1
    return {
        name: x.expand(*batch, *x.shape[-1 - own_axes(name) :]).flatten(0, last)
        if x.dim() > 1 + own_axes(name)
        else x
        for name, x in maps.items()
    }


def _taken(maps: dict[str, Tensor], index: Tensor) -> dict[str, Tensor]:
    return {name: x[index] if x.dim() > 1 + own_axes(name) else x for name, x in maps.items()}
