r"""The Transformer PDE, described once: attention, parameters, geometry, local terms and noise.

.. math:: \partial_t \mu + \mathrm{div}\bigl(\mu\,(\Gamma_\mu + F)\bigr) = D\,\Delta\mu, \qquad
          \Gamma_\mu(x) = \sum_h
          \frac{\int e^{\beta\langle Q_h x, K_h y\rangle}\, V_h y\,\mu(dy)}
               {\int e^{\beta\langle Q_h x, K_h y\rangle}\,\mu(dy)} \text{ (softmax)}

A description only: `particle_field` translates it into the velocity of the tokens of a cloud.
"""

__all__ = ["TransformerPDE"]

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from vlasov.attention import Attention, build_attention
from vlasov.attention.masks import Mask, build_mask
from vlasov.cloud import Cloud
from vlasov.engines import ENGINES, Engine
from vlasov.engines.visibility import Visibility
from vlasov.errors import InvalidValue, ShapeMismatch, Unsupported
from vlasov.gaussian import Gaussian
from vlasov.geometry import GEOMETRIES, Geometry
from vlasov.pde.closure import affine_terms, diffusion_of, require_flat, require_no_order
from vlasov.pde.field import AttentionForce, MomentumField, ParticleField
from vlasov.pde.gaussian_field import GaussianField
from vlasov.pde.memory import require_memory
from vlasov.pde.noise import NOISES, Noise
from vlasov.pde.terms import TERMS, Momentum, Term
from vlasov.projections import ParameterPath, Projections


@dataclass(frozen=True, eq=False, init=False)
class TransformerPDE:
    """An equation for token clouds; every part by object or by spec string.

    Args:
        attention: a variant (``"softmax"``, ``"sinkhorn:eps=0.3"``), or one per head joined by
            ``+``.
        projections: query, key and value maps, constant or along depth; None is the identity.
        beta: inverse temperature of the scores ``beta * <Q x_i, K x_j>``; any sign, nothing
            hidden.
        geometry: ``"euclid"`` or ``"sphere"``.
        engine: how sums are evaluated: ``"auto"``, ``"direct"``, ``"fused"``, ``"tiled"``,
            ``"dense"``.
        mask: ``"causal"``, ``"window:width=8"``, ``"alibi:slope=0.5"``, or a boolean matrix
            (True sees).
        terms: local reactions such as ``"decay:rate=1"``, ``"mlp:hidden=16"``,
            ``"momentum:damping=1"``.
        noise: ``"independent:diffusion=0.5"`` or ``"common:diffusion=0.5"``.

    Raises:
        UnknownName: for a name no catalogue holds.
        InvalidValue: for a beta that is not finite.
    """

    attention: Attention
    projections: ParameterPath | None
    beta: float
    geometry: Geometry
    engine: Engine
    mask: Mask | None
    terms: tuple[Term, ...]
    noise: Noise | None

    def __init__(  # noqa: PLR0913 - the public door: one argument per part of the equation
        self,
        attention: str | Attention | Sequence[Attention] = "softmax",
        projections: ParameterPath | None = None,
        *,
        beta: float = 1.0,
        geometry: str | Geometry = "euclid",
        engine: str | Engine = "auto",
        mask: str | Mask | Tensor | None = None,
        terms: str | Term | Sequence[str | Term] = (),
        noise: str | Noise | None = None,
    ) -> None:
        # nothing checks types outside the tests
        if not (isinstance(beta, int | float) and math.isfinite(beta)):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidValue(f"beta must be a finite number but got {beta!r}; give one.")
        parts = [terms] if isinstance(terms, str | Term) else terms
        built = tuple(TERMS.build(term) if isinstance(term, str) else term for term in parts)
        self._set("attention", build_attention(attention))
        self._set("projections", projections)
        self._set("beta", float(beta))
        self._set(
            "geometry", GEOMETRIES.build(geometry) if isinstance(geometry, str) else geometry
        )
        self._set("engine", ENGINES.build(engine) if isinstance(engine, str) else engine)
        self._set("mask", build_mask(mask))
        self._set("terms", built)
        self._set("noise", NOISES.build(noise) if isinstance(noise, str) else noise)
        _check_momentum(built)

    def _set(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)

    @property
    def momentum(self) -> Momentum | None:
        """The momentum term, if the equation is of second order in time."""
        return next((term for term in self.terms if isinstance(term, Momentum)), None)

    def path(self, tokens: Cloud | Gaussian) -> ParameterPath:
        """The parameters in the dtype and device of the tokens; by default the identity."""
        kind = "cloud" if isinstance(tokens, Cloud) else "law"
        like = tokens.points if isinstance(tokens, Cloud) else tokens.mean
        path = self.projections
        if path is None:
            path = Projections.identity(tokens.d)
        if path.width != tokens.d:
            raise ShapeMismatch(
                f"The projections act on tokens of width {path.width} but the {kind} has width "
                f"{tokens.d}; build them for that width."
            )
        return path.to(dtype=like.dtype, device=like.device)

    def visibility(self, cloud: Cloud) -> Visibility | None:
        """The mask bound to the positions of a cloud (its order, where it has none)."""
        if self.mask is None:
            return None
        positions = cloud.positions
        if positions is None:
            positions = torch.arange(cloud.n, dtype=cloud.points.dtype, device=cloud.points.device)
            positions = positions.expand(cloud.log_weights.shape)
        head = positions[..., None, :]
        return self.mask.bind(head, head)

    def particle_field(self, cloud: Cloud) -> ParticleField | MomentumField:
        """Velocity of every token of a cloud with these weights and positions.

        Under momentum the state is ``[x, u]`` joined along the last axis.

        Raises:
            ShapeMismatch: if projections, mask and cloud do not fit.
            TooLittleMemory: if the engine would need more memory than is free.
        """
        path = self.path(cloud)
        mask = self.visibility(cloud)
        require_memory(self.engine, cloud, heads=path.heads, mask=mask)
        log_w = cloud.log_weights[..., None, :]
        attention = AttentionForce(self.attention, path, self.engine, log_w, self.beta, mask)
        local = tuple(
            term.bind(cloud.points) for term in self.terms if not isinstance(term, Momentum)
        )
        field = ParticleField(self.geometry, attention, local)
        momentum = self.momentum
        return field if momentum is None else MomentumField(field, momentum.bind(cloud.points))

    def gaussian_field(self, start: Gaussian, *, positions: str | None = None) -> GaussianField:
        """Velocity of the flow map ``[A | b]`` that carries `start` to the law at time t.

        `positions` is ``"independent"`` for tokens whose law does not depend on their position:
        then a mask of positions changes nothing.

        Raises:
            Unsupported: if the equation does not keep Gaussians Gaussian.
            ShapeMismatch: if projections and law do not fit.
        """
        require_flat(self.geometry)
        require_no_order(self.mask, self.attention, positions)
        local = affine_terms(self.terms, start.mean.unsqueeze(-2))
        path, diffusion = self.path(start), diffusion_of(self.noise)
        return GaussianField(start, self.attention, path, self.beta, local, diffusion)

    def breakpoints(self, start: float, until: float) -> tuple[float, ...]:
        """Times strictly between the two at which the parameters jump."""
        return (
            () if self.projections is None else tuple(self.projections.breakpoints(start, until))
        )

    def requires_grad(self, tokens: Cloud | Gaussian) -> bool:
        """Whether a gradient is wanted through this equation on these tokens."""
        tensors = [t for t in vars(tokens).values() if isinstance(t, Tensor)]
        tensors += [] if self.projections is None else list(self.projections.tensors())
        tensors += [t for term in self.terms for t in vars(term).values() if isinstance(t, Tensor)]
        return torch.is_grad_enabled() and any(t.requires_grad for t in tensors)

    def replace(
        self,
        **changes: Any,  # noqa: ANN401 - each part has its own type, as in the constructor
    ) -> "TransformerPDE":
        """The same equation with some parts exchanged."""
        kept = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        return TransformerPDE(**(kept | changes))


def _check_momentum(terms: tuple[Term, ...]) -> None:
    if sum(isinstance(term, Momentum) for term in terms) > 1:
        raise Unsupported("An equation has one momentum term but got several; keep one of them.")
