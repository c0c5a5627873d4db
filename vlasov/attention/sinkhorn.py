"""Sinkhorn attention: weights that are bistochastic, the entropic transport plan."""

__all__ = ["Sinkhorn"]

from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor

from vlasov._products import product
from vlasov._shapes import KeyLogits, Keys, Queries, Values
from vlasov.attention.base import Attention
from vlasov.attention.gaussian_plan import conditional_covariance
from vlasov.attention.symmetry import symmetric_and_positive
from vlasov.engines import Engine
from vlasov.engines.base import PreparedSum
from vlasov.engines.visibility import Visibility
from vlasov.errors import InvalidValue, NotConverged, ShapeMismatch, Unsupported
from vlasov.gaussian import Affine, Gaussian


@dataclass(frozen=True)
class Sinkhorn(Attention):
    r"""An average weighted by the bistochastic kernel with the exponential of the score.

    .. math:: \frac1\varepsilon \sum_j w_j\, \kappa_{ij}\, V x_j, \qquad
              \kappa_{ij} = e^{\beta\langle Qx_i, Kx_j\rangle/\varepsilon + f_i + g_j}, \qquad
              \sum_j w_j \kappa_{ij} = \sum_i w_i \kappa_{ij} = 1

    For dynamics in which every token is seen as much as it sees: the mean follows
    ``mean' = V mean / eps`` for any cloud. The potentials start from the same point at every
    evaluation, so the field is a function of the cloud alone. Rows are exact; a column is off by
    at most ``tolerance`` (or the rounding of the number format, if that is coarser).

    Source: Sander et al., Sinkformers, arXiv:2110.11773; the prefactor and the flow of measures in
    Castin et al., arXiv:2501.18322.
    """

    name: ClassVar[str] = "sinkhorn"
    eps: float = 1.0
    tolerance: float = 1e-10
    max_sweeps: int = 10_000

    def __post_init__(self) -> None:
        if not (self.eps > 0 and self.tolerance > 0 and self.max_sweeps > 0):
            raise InvalidValue(
                f"Sinkhorn attention takes eps, tolerance and max_sweeps > 0 but got eps="
                f"{self.eps}, tolerance={self.tolerance}, max_sweeps={self.max_sweeps}."
            )

    @property
    def row_sum(self) -> float:  # noqa: D102
        return 1 / self.eps

    @property
    def needs_query_law(self) -> bool:  # noqa: D102
        return True

    def average(
        self,
        q: Queries,
        k: Keys,
        v: Values,
        log_w: KeyLogits,
        engine: Engine,
        *,
        beta: float = 1.0,
        mask: Visibility | None = None,
    ) -> Float[Tensor, "*batch nq dv"]:
        """The engine's average with the key potential among the logits, divided by eps.

        Raises:
            Unsupported: under a causal or one-sided mask.
            NotConverged: if `max_sweeps` is reached before the tolerance.
        """
        sweep = self._sweep(q * (beta / self.eps), k, log_w, engine, mask)
        _, g = self._solved(sweep)
        return sweep.forth.average(v, g + log_w) / self.eps

    def affine(self, q: Gaussian, k: Gaussian, v: Gaussian, *, beta: float = 1.0) -> Affine:
        """The mean of the values under the entropic plan of the queries with the keys."""
        back = (beta / self.eps) * k.factor.mT
        spread = conditional_covariance(product(back, q.factor))
        gain = product(v.factor, product(spread, back)) / self.eps
        return Affine(gain, v.mean / self.eps - product(gain, q.mean.unsqueeze(-1)).squeeze(-1))

    def potentials(
        self,
        q: Queries,
        k: Keys,
        log_w: KeyLogits,
        engine: Engine,
        *,
        beta: float = 1.0,
        mask: Visibility | None = None,
    ) -> tuple[Float[Tensor, "*batch n"], Float[Tensor, "*batch n"]]:
        """The potentials f of the rows and g of the columns, ending on f: rows are exact.

        They are unique up to ``(f + c, g - c)``; a token that sees nothing has f = 0. The start is
        minus half the score of each token with itself.

        Raises:
            Unsupported: under a causal or one-sided mask.
            NotConverged: if `max_sweeps` is reached before the tolerance.
        """
        return self._solved(self._sweep(q * (beta / self.eps), k, log_w, engine, mask))

    def _sweep(
        self, q: Tensor, k: Tensor, log_w: Tensor, engine: Engine, mask: Visibility | None
    ) -> "_Sweep":
        _check(q, k, mask)
        engine = engine.within(self.tolerance / 10)  # or its error would look like the residual
        back = None if mask is None else mask.transposed()
        even = symmetric_and_positive(q, k)
        forth = engine.prepared(q, k, mask=mask)
        return _Sweep(log_w, even, forth, engine.prepared(k, q, mask=back))

    def _solved(self, sweep: "_Sweep") -> tuple[Tensor, Tensor]:
        q, k = sweep.forth.q, sweep.forth.k
        tolerance = max(self.tolerance, _rounding(q, k))
        g = -(q * k).sum(dim=-1) / 2
        residual = torch.full_like(g, torch.inf)
        for _ in range(self.max_sweeps):
            f = sweep.rows(g)
            update, residual = _next(sweep, f, g)
            if bool((residual <= tolerance).all()):
                return f, g
            # A member that has converged stays: its answer does not depend on its neighbours.
            g = torch.where(residual <= tolerance, g, update)
        raise NotConverged(
            f"Sinkhorn attention wanted columns within {tolerance:.1e} of one but after "
            f"{self.max_sweeps} sweeps they were off by {residual.max().item():.1e}; raise eps "
            f"(now {self.eps}), tolerance or max_sweeps, or lower beta."
        )


@dataclass(frozen=True, eq=False)
class _Sweep:
    """The two half-steps: the potential of one side that makes its marginal exact.

    `even` tells where the scores are symmetric; only elsewhere the way back is asked for.
    """

    log_w: Tensor
    even: Tensor
    forth: PreparedSum
    back: PreparedSum

    def rows(self, g: Tensor) -> Tensor:
        return _potential(self.forth.log_sum(g + self.log_w))

    def columns(self, f: Tensor) -> Tensor:
        return _potential(self.back.log_sum(f + self.log_w))


def _next(sweep: _Sweep, f: Tensor, g: Tensor) -> tuple[Tensor, Tensor]:
    """The next column potential, and how far the columns of the plan (f, g) are from one.

    Where the scores are symmetric the two potentials agree in the limit and the average of both is
    taken: for a positive kernel its error halves at each sweep, however strong the scores, where
    alternation can need millions. A column is then ``exp(g - rows(f))`` with
    ``|rows(f) - f| <= |f - g|``.
    """
    even, averaged, bound = sweep.even, (f + g) / 2, _off(2 * (f - g).detach().abs())
    if bool(even.all()):
        return averaged, bound
    alternated = sweep.columns(f)
    residual = torch.where(even, bound, _off((g - alternated).detach()))
    return torch.where(even, averaged, alternated), residual


def _off(log_column: Tensor) -> Tensor:
    return log_column.expm1().abs().amax(dim=-1, keepdim=True)


def _potential(log_total: Tensor) -> Tensor:
    return -torch.where(log_total.isneginf(), 0.0, log_total)


def _rounding(q: Tensor, k: Tensor) -> float:
    """What rounding leaves of a marginal: a few units times the largest score."""
    size = torch.linalg.vector_norm(q.detach(), dim=-1).max() * (
        torch.linalg.vector_norm(k.detach(), dim=-1).max()
    )
    return 8 * torch.finfo(q.dtype).eps * (1 + size.item())


def _check(q: Tensor, k: Tensor, mask: Visibility | None) -> None:
    if q.shape[-2] != k.shape[-2]:
        raise ShapeMismatch(
            f"Sinkhorn attention needs as many queries as keys but got {q.shape[-2]} and "
            f"{k.shape[-2]}; give every token to both."
        )
    if mask is not None and not mask.symmetric:
        raise Unsupported(
            "Sinkhorn attention refuses a causal or one-sided mask: the only bistochastic "
            "triangular kernel is the identity. Use a symmetric mask, or softmax attention."
        )
