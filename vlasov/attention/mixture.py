"""Multi-head mixtures: a variant of its own for each head."""

__all__ = ["HeadMixture"]

from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor

from vlasov._shapes import KeyLogits, Keys, Queries, Values
from vlasov.attention.base import Attention
from vlasov.engines import Engine
from vlasov.engines.visibility import Visibility
from vlasov.errors import InvalidValue, ShapeMismatch
from vlasov.gaussian import Affine, Gaussian


@dataclass(frozen=True)
class HeadMixture(Attention):
    r"""One variant per head; the field is the sum over the heads.

    .. math:: \Gamma(x_i) = \sum_h \mathrm{average}_h\bigl(Q_h x_i, K_h x, V_h x\bigr)

    Written with plus signs, as in ``softmax+l2+sigmoid:bias=-1``.

    Source: multi-head attention, Vaswani et al. (2017), section 3.2.2, with the variant of each
    head free.
    """

    name: ClassVar[str] = "mixture"
    members: tuple[Attention, ...]

    def __post_init__(self) -> None:
        if not self.members:
            raise InvalidValue("A mixture takes one attention per head but got none; give one.")

    @property
    def row_sum(self) -> float | None:
        """The row sum that all heads share, if they do."""
        sums = {member.row_sum for member in self.members}
        return sums.pop() if len(sums) == 1 else None

    @property
    def row_stochastic(self) -> bool:
        """Whether the rows of every head sum to one."""
        return all(member.row_stochastic for member in self.members)

    @property
    def bounded(self) -> bool:
        """Whether no head can blow up."""
        return all(member.bounded for member in self.members)

    @property
    def needs_query_law(self) -> bool:
        """Whether some head needs it."""
        return any(member.needs_query_law for member in self.members)

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
        """What each head sees by its own variant, on the head axis.

        Raises:
            ShapeMismatch: unless there are as many heads as members.
        """
        self._require_heads(max(x.shape[-3] if x.ndim > 2 else 1 for x in (q, k, v)))
        seen: list[Tensor] = []
        for h, member in enumerate(self.members):
            rows, columns, values = (_head(x, h, axis=-3) for x in (q, k, v))
            view = None if mask is None else mask.head(h)
            weights = _head(log_w, h, axis=-2)
            seen.append(
                member.average(rows, columns, values, weights, engine, beta=beta, mask=view)
            )
        return torch.cat(seen, dim=-3)

    def affine(self, q: Gaussian, k: Gaussian, v: Gaussian, *, beta: float = 1.0) -> Affine:
        """The affine map of each head by its own variant, on the head axis.

        Raises:
            ShapeMismatch: unless there are as many heads as members.
            Unsupported: if a member does not keep Gaussians Gaussian.
        """
        self._require_heads(v.mean.shape[-2])
        maps = [
            member.affine(*(_head_of_law(law, h) for law in (q, k, v)), beta=beta)
            for h, member in enumerate(self.members)
        ]
        return Affine(
            torch.cat([one.matrix for one in maps], dim=-3),
            torch.cat([one.offset for one in maps], dim=-2),
        )

    def _require_heads(self, heads: int) -> None:
        if heads != len(self.members):
            raise ShapeMismatch(
                f"The mixture has {len(self.members)} members but the projections have {heads} "
                f"heads; give one attention per head, or a single one for all."
            )


def _head(x: Tensor, index: int, *, axis: int) -> Tensor:
    """One head, whose axis is kept; tensors shared by the heads as they are."""
    if x.ndim < -axis or x.shape[axis] == 1:
        return x
    return x.narrow(axis, index, 1)


def _head_of_law(law: Gaussian, index: int) -> Gaussian:
    return Gaussian.of_factor(law.mean.narrow(-2, index, 1), law.factor.narrow(-3, index, 1))
