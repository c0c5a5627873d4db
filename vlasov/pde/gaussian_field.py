r"""The velocity of the affine flow that carries a Gaussian law.

.. math:: \dot x = G_t x + g_t, \qquad \dot A = G_t A, \quad \dot b = G_t b + g_t, \qquad
          N(\alpha_0, \Sigma_0) \mapsto N(A\alpha_0 + b,\; A\Sigma_0A^T + C)

where :math:`\dot C = G_t C + C G_t^T + 2D I` only under independent noise. The law is pushed by
the flow, so the covariance stays positive and keeps its rank. Source: spec section 2.1.
"""

__all__ = ["GaussianField"]

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import torch
from jaxtyping import Float
from torch import Tensor

from vlasov._products import batch_last, product
from vlasov._roots import symmetric_root
from vlasov.attention.base import Attention
from vlasov.errors import Unsupported
from vlasov.gaussian import Affine, Gaussian
from vlasov.projections import ParameterPath, Projections
from vlasov.projections.maps import own_axes

State = Float[Tensor, "*batch d columns"]


@dataclass(frozen=True, eq=False)
class GaussianField:
    """A plain callable on states ``[A | b]`` or, under noise, ``[A | b | C]``."""

    start: Gaussian
    attention: Attention
    path: ParameterPath
    beta: float
    local: Affine | None = None
    diffusion: float | None = None

    def __post_init__(self) -> None:
        if not self.attention.row_stochastic and self.path.at(0.0).output_bias is not None:
            raise Unsupported(
                f"An output bias is an offset of the values only where the weights of a row sum "
                f"to 1, but the attention is '{self.attention.name}'. Use softmax or l2, or drop "
                "the bias."
            )

    def initial(self, t: float) -> State:
        """The identity map at the start time, for every system of law and parameters."""
        maps = self.path.at(t).maps()
        batches = [one.shape[: -1 - own_axes(name)] for name, one in maps.items()]
        batch = torch.broadcast_shapes(self.start.mean.shape[:-1], *batches)
        d = self.start.d
        columns = d + 1 if self.diffusion is None else 2 * d + 1
        state = torch.eye(d, columns).to(self.start.mean)
        return batch_last(state.expand(*batch, d, columns).clone())

    def __call__(self, t: float | Tensor, state: State) -> State:
        """The velocity of the state at time t."""
        field, d = self._field(t, self._columns(state)), self.start.d
        flow = _carried(field, state[..., : d + 1])
        if self.diffusion is None:
            return flow
        half = product(field.matrix, state[..., d + 1 :])
        noise = 2 * self.diffusion * torch.eye(d).to(state)
        return torch.cat([flow, half + half.mT + noise], dim=-1)

    def flow(self, state: State) -> Affine:
        """The map that the state describes."""
        return Affine(state[..., : self.start.d], state[..., self.start.d])

    def law(self, state: State) -> Gaussian:
        """The law that the state describes; NaN where the state is not finite."""
        columns = self._columns(state)
        return Gaussian.of_factor(columns[..., -1], columns[..., :-1])

    def trace(self, state: State) -> Float[Tensor, "*batch"]:
        """The trace of the covariance that the state describes."""
        d = self.start.d
        trace = product(state[..., :d], self._start_columns[..., :-1]).square().sum((-2, -1))
        if self.diffusion is None:
            return trace
        return trace + state[..., d + 1 :].diagonal(dim1=-2, dim2=-1).sum(-1)

    def _columns(self, state: Tensor) -> Tensor:
        """The factor of the covariance and, as last column, the mean."""
        d = self.start.d
        moved = _carried(self.flow(state), self._start_columns)
        if self.diffusion is None:
            return moved
        factor = moved[..., :-1]
        cov = product(factor, factor.mT) + state[..., d + 1 :]
        finite = torch.isfinite(cov).all(-1).all(-1)[..., None, None]
        root = torch.where(finite, symmetric_root(torch.where(finite, cov, 0.0)), torch.nan)
        return torch.cat([root, moved[..., -1:]], dim=-1)

    def _field(self, t: float | Tensor, columns: Tensor) -> Affine:
        """Matrix and offset of the velocity: the sum over heads and the local terms."""
        maps = self.path.at(t)
        heads = self._constant if maps is self.path else _Heads.of(maps)
        per_head = columns.unsqueeze(-3)
        k, v = heads.law("key", per_head), heads.law("value", per_head)
        q = heads.law("query", per_head) if self.attention.needs_query_law else k
        total = heads.total(self.attention.affine(q, k, v, beta=self.beta))
        if self.local is None:
            return total
        return Affine(total.matrix + self.local.matrix, total.offset + self.local.offset)

    @cached_property
    def _start_columns(self) -> Tensor:
        mean, factor = self.start.mean.unsqueeze(-1), self.start.factor
        return batch_last(torch.cat([factor, mean], dim=-1))

    @cached_property
    def _constant(self) -> "_Heads":
        return _Heads.of(self.path.at(0.0))


@dataclass(frozen=True, eq=False)
class _Heads:
    """The maps of every head with their biases, laid out for products."""

    maps: Mapping[str, Tensor]

    @classmethod
    def of(cls, projections: Projections) -> "_Heads":
        maps = projections.maps()
        return cls({name: batch_last(one, own_axes(name)) for name, one in maps.items()})

    def law(self, name: str, columns: Tensor) -> Gaussian:
        """The law of the queries, keys or values, head by head."""
        images, bias = product(self.maps[name], columns), self.maps.get(f"{name}_bias")
        mean = images[..., -1]
        return Gaussian.of_factor(mean if bias is None else mean + bias, images[..., :-1])

    def total(self, seen: Affine) -> Affine:
        """What queries see as a map of the token, added up over the heads."""
        matrix, offset = product(seen.matrix, self.maps["query"]), seen.offset
        bias = self.maps.get("query_bias")
        if bias is not None:
            offset = offset + product(seen.matrix, bias.unsqueeze(-1)).squeeze(-1)
        return Affine(_added(matrix, axis=-3), _added(offset, axis=-2))


def _added(x: Tensor, axis: int) -> Tensor:
    return x.squeeze(axis) if x.shape[axis] == 1 else x.sum(axis)


def _carried(flow: Affine, columns: Tensor) -> Tensor:
    """The images of vectors and, in the last column, of a point."""
    images = product(flow.matrix, columns)
    images[..., -1] += flow.offset
    return images
