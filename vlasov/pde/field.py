r"""The velocity of every token of a cloud, as a plain callable ``(t, x) -> dx/dt``.

.. math:: \dot x_i = T_{x_i}\Bigl(\sum_h \mathrm{attention}_h(x_i; \mu) + \sum_k F_k(t, x_i)\Bigr)

with :math:`T_x` the projection on the tangent space of the geometry (Eq. of spec section 1.1).
"""

__all__ = ["Force", "MomentumField", "ParticleField", "Smooth", "Velocity", "surviving"]

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Protocol, runtime_checkable

import torch
from torch import Tensor

from vlasov._shapes import Points
from vlasov.attention.base import Attention
from vlasov.engines import Engine
from vlasov.engines.visibility import Visibility
from vlasov.geometry.base import Geometry
from vlasov.projections import ParameterPath

Force = Callable[[float | Tensor, Tensor], Tensor]
Smooth = Callable[[Tensor], Tensor]


@runtime_checkable
class Velocity(Protocol):
    """A field that knows its parts, so that splitting methods can take them in turn."""

    @property
    def parts(self) -> tuple[Force, ...]:
        """Fields that add up to this one: attention first, then the local terms."""
        ...

    def __call__(self, t: float | Tensor, x: Points) -> Points:
        """The velocity at time t."""
        ...


@dataclass(frozen=True, eq=False)
class AttentionForce:
    """The sum over heads of what each token sees, before any projection on a tangent space.

    `smooth_values` and `smooth_seen` change the values (*batch, h, n, k) and what the heads saw
    of them, before the output maps.

    A system beyond the number format, where a step of an integrator can lead, has the velocity NaN
    and changes nothing for the other members of a batch.
    """

    attention: Attention
    projections: ParameterPath
    engine: Engine
    log_w: Tensor
    beta: float
    mask: Visibility | None
    smooth_values: Smooth | None = None
    smooth_seen: Smooth | None = None

    def __call__(self, t: float | Tensor, x: Points) -> Points:
        return surviving(partial(self._seen, t), x)

    def _seen(self, t: float | Tensor, x: Tensor) -> Tensor:
        maps = self.projections.at(t)
        q, k, v = maps.project(x)
        v = v if self.smooth_values is None else self.smooth_values(v)
        seen = self.attention.average(
            q, k, v, self.log_w, self.engine, beta=self.beta, mask=self.mask
        )
        return maps.gather(seen if self.smooth_seen is None else self.smooth_seen(seen))


def surviving(velocity: Smooth, x: Points) -> Points:
    """A velocity that is NaN for the systems that are, or whose queries and keys may overflow."""
    room = torch.finfo(x.dtype).max / 2**20
    if torch.linalg.vector_norm(x.detach(), math.inf).item() < room:
        return velocity(x)
    lost = ~(x.detach().abs().amax((-2, -1), keepdim=True) < room)
    return torch.where(lost, torch.nan, velocity(torch.where(lost, 0.0, x)))


def _total(forces: tuple[Force, ...], t: float | Tensor, x: Tensor) -> Tensor:
    velocity = forces[0](t, x)
    for force in forces[1:]:
        velocity = velocity + force(t, x)
    return velocity


def _kick(force: Force, t: float | Tensor, state: Tensor) -> Tensor:
    x, u = state.chunk(2, dim=-1)
    return torch.cat([torch.zeros_like(u), force(t, x)], dim=-1)


@dataclass(frozen=True, eq=False)
class ParticleField:
    """First order in time: the velocity is the tangent part of attention and local terms."""

    geometry: Geometry
    attention: Force
    reactions: tuple[Force, ...] = ()

    def __call__(self, t: float | Tensor, x: Points) -> Points:
        """Attention and local terms added first, then made tangent once."""
        return self.geometry.tangent(x, _total((self.attention, *self.reactions), t, x))

    @property
    def parts(self) -> tuple[Force, ...]:
        """Attention and, if there are any, the local terms together; each tangent."""
        groups = [self.attention] + ([partial(_total, self.reactions)] if self.reactions else [])
        return tuple(self._tangent(group) for group in groups)

    def _tangent(self, force: Force) -> Force:
        return lambda t, x: self.geometry.tangent(x, force(t, x))


@dataclass(frozen=True, eq=False)
class MomentumField:
    r"""Second order in time, on states ``[x, u]`` joined along the last axis.

    .. math:: \dot x = u, \qquad \dot u = T_x F(t, x) - \gamma u - c(x, u)

    where c is the normal acceleration that keeps x on the geometry (:math:`|u|^2 x/r^2` on the
    sphere).
    """

    first_order: ParticleField
    damping: Force

    def __call__(self, t: float | Tensor, x: Points) -> Points:
        """The velocity ``[u, du/dt]`` of the joined state ``[x, u]``."""
        return _total(self.parts, t, x)

    @property
    def parts(self) -> tuple[Force, ...]:
        """The kick of each first-order part, then the free motion with damping."""
        kicks = tuple(partial(_kick, part) for part in self.first_order.parts)
        return (*kicks, self._drift)

    def _drift(self, t: float | Tensor, state: Tensor) -> Tensor:
        x, u = state.chunk(2, dim=-1)
        geometry = self.first_order.geometry
        bend = geometry.normal_acceleration(x, u)
        return torch.cat([u, self.damping(t, u) + bend], dim=-1)
