r"""Passive tokens in the field of a cloud: they see it, it does not see them.

.. math:: \dot y_i = \Gamma_{\mu_t}(y_i), \qquad \dot z_j = \Gamma_{\mu_t}(z_j), \qquad
          \mu_t = \frac1N \sum_{j \le N} \delta_{z_j(t)}

Off the cloud, Sinkhorn attention is softmax attention with the key potential among the logits.

Source: spec 1.1, 1.2.
"""

__all__ = ["carried"]

from dataclasses import dataclass
from functools import partial

import torch
from jaxtyping import Float
from torch import Tensor

from vlasov.attention import Attention, HeadMixture, Sinkhorn
from vlasov.cloud import Cloud
from vlasov.engines import Engine
from vlasov.engines.visibility import Visibility
from vlasov.errors import NotFinite
from vlasov.geometry import Euclid
from vlasov.integration import FixedStep, Plan, Problem, build_method, integrate
from vlasov.pde import TransformerPDE
from vlasov.pde.field import Force, surviving
from vlasov.projections import ParameterPath


def carried(
    pde: TransformerPDE,
    cloud: Cloud,
    passive: Cloud,
    *,
    until: float,
    step: float,
    integrator: str,
) -> tuple[Float[Tensor, "n d"], Float[Tensor, "m d"]]:
    """The points of a cloud and of passive tokens at the time `until`; weights are the cloud's.

    Raises:
        NotFinite: if the cloud does not get there.
    """
    together = torch.cat([cloud.points, passive.points])
    field = _JointField.of(pde, cloud, passive)
    problem = Problem(
        field=field,
        initial=together,
        until=until,
        retract=None if isinstance(pde.geometry, Euclid) else pde.geometry.retract,
        breaks=pde.breakpoints(0.0, until),
    )
    plan = Plan(method=build_method(integrator), step=FixedStep(step), save_at=())
    outcome = integrate(problem, plan)
    if not bool(outcome.state.x.isfinite().all()) or outcome.status != "finished":
        raise NotFinite(
            f"The reference cloud is wanted at t = {until:g} but ended at t = "
            f"{outcome.stopped_at:g} ({outcome.message}). Ask for an earlier time."
        )
    return outcome.state.x[: cloud.n], outcome.state.x[cloud.n :]


@dataclass(frozen=True, eq=False)
class _JointField:
    """The velocity of a cloud of `n` tokens and of the passive ones behind them."""

    pde: TransformerPDE
    path: ParameterPath
    terms: tuple[Force, ...]
    log_w: Tensor
    n: int
    inner: Visibility | None
    outer: Visibility | None

    @classmethod
    def of(cls, pde: TransformerPDE, cloud: Cloud, passive: Cloud) -> "_JointField":
        """The field for clouds with positions where the equation has a mask."""
        terms = tuple(term.bind(cloud.points) for term in pde.terms)
        inner = outer = None
        if pde.mask is not None and cloud.positions is not None and passive.positions is not None:
            keys = cloud.positions[None]
            inner = pde.mask.bind(keys, keys)
            outer = pde.mask.bind(torch.cat([keys, passive.positions[None]], -1), keys)
        return cls(pde, pde.path(cloud), terms, cloud.log_weights[None], cloud.n, inner, outer)

    def __call__(self, t: float | Tensor, x: Tensor) -> Tensor:
        return surviving(partial(self._velocity, t), x)

    def _velocity(self, t: float | Tensor, x: Tensor) -> Tensor:
        maps = self.path.at(t)
        q, k, v = maps.project(x)
        sources = _Sources(
            q[..., : self.n, :], k[..., : self.n, :], v[..., : self.n, :], self.log_w,
            self.pde.beta, self.inner, self.outer,
        )  # fmt: skip
        velocity = maps.gather(_seen(self.pde.attention, q, sources, self.pde.engine))
        for term in self.terms:
            velocity = velocity + term(t, x)
        return self.pde.geometry.tangent(x, velocity)


@dataclass(frozen=True, eq=False)
class _Sources:
    """The cloud that is seen: its own queries, keys and values, and who sees whom."""

    q: Tensor
    k: Tensor
    v: Tensor
    log_w: Tensor
    beta: float
    inner: Visibility | None
    outer: Visibility | None

    def head(self, h: int) -> "_Sources":
        """One head, whose axis is kept."""
        inner = None if self.inner is None else self.inner.head(h)
        outer = None if self.outer is None else self.outer.head(h)
        q, k, v = (x.narrow(-3, h, 1) for x in (self.q, self.k, self.v))
        return _Sources(q, k, v, self.log_w, self.beta, inner, outer)


def _seen(attention: Attention, q: Tensor, cloud: _Sources, engine: Engine) -> Tensor:
    """What queries see of the cloud, head by head."""
    if isinstance(attention, HeadMixture):
        heads = enumerate(attention.members)
        parts = [_seen(one, q.narrow(-3, h, 1), cloud.head(h), engine) for h, one in heads]
        return torch.cat(parts, dim=-3)
    if not isinstance(attention, Sinkhorn):
        return attention.average(
            q, cloud.k, cloud.v, cloud.log_w, engine, beta=cloud.beta, mask=cloud.outer
        )
    _, g = attention.potentials(
        cloud.q, cloud.k, cloud.log_w, engine, beta=cloud.beta, mask=cloud.inner
    )
    scaled = q * (cloud.beta / attention.eps)
    seen = engine.average(scaled, cloud.k, cloud.v, g + cloud.log_w, mask=cloud.outer)
    return seen / attention.eps
