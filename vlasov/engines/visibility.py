"""What each query may see of the keys: order, distance and an explicit matrix, in one record."""

__all__ = ["Visibility"]

import dataclasses
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from vlasov._shapes import KeyLogits
from vlasov.engines.intervals import first_true, interval_sums


@dataclass(frozen=True, eq=False)
class Visibility:
    """Which keys a query sees, and how its score falls with the distance of positions.

    Query i sees key j where all of these hold:

    - ``causal``: the key's position is not later than the query's (equal ones see each other);
    - ``width``: the positions are at most `width` apart;
    - ``matrix``: the entry ``[i, j]`` is True.

    ``slope`` lowers the score by ``slope * |position_i - position_j|`` (ALiBi); a tensor with one
    entry per head gives each its own. Among a cloud's tensors ``(*batch, heads, n, d)`` positions
    are ``(*batch, 1, n)``.
    """

    query_positions: Float[Tensor, "*#batch nq"]
    key_positions: Float[Tensor, "*#batch nk"]
    causal: bool = False
    width: float | None = None
    slope: Float[Tensor, "*#heads"] | None = None
    matrix: Bool[Tensor, "*#batch nq nk"] | None = None

    @property
    def hides(self) -> bool:
        """Whether some key may be hidden from some query."""
        return self.causal or self.width is not None or self.matrix is not None

    @property
    def symmetric(self) -> bool:
        """Whether i sees j exactly when j sees i."""
        if self.causal or not torch.equal(self.query_positions, self.key_positions):
            return False
        return self.matrix is None or torch.equal(self.matrix, self.matrix.mT)

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        """Every tensor of the record."""
        found = (self.query_positions, self.key_positions, self.slope, self.matrix)
        return tuple(x for x in found if x is not None)

    @property
    def batch_shapes(self) -> tuple[torch.Size, ...]:
        """The axes of each tensor before those of queries and keys."""
        matrix, slope = self.matrix, self.slope
        shapes = [x.shape[:-1] for x in (self.query_positions, self.key_positions)]
        shapes += [] if slope is None else [slope.shape]
        return (*shapes, *([] if matrix is None else [matrix.shape[:-2]]))

    def rows(self, rows: slice) -> "Visibility":
        """The same record for some of the queries."""
        matrix = None if self.matrix is None else self.matrix[..., rows, :]
        return dataclasses.replace(
            self, query_positions=self.query_positions[..., rows], matrix=matrix
        )

    def head(self, index: int) -> "Visibility":
        """The same record for one head, whose axis is kept with length one."""
        slope, matrix = self.slope, self.matrix
        if slope is not None and slope.ndim > 0 and slope.shape[-1] > 1:
            slope = slope[..., index : index + 1]
        if matrix is not None and matrix.ndim > 2 and matrix.shape[-3] > 1:
            matrix = matrix[..., index : index + 1, :, :]
        return dataclasses.replace(self, slope=slope, matrix=matrix)

    def transposed(self) -> "Visibility":
        """Queries and keys exchanged; only for a symmetric record."""
        matrix = None if self.matrix is None else self.matrix.mT
        return dataclasses.replace(
            self,
            query_positions=self.key_positions,
            key_positions=self.query_positions,
            matrix=matrix,
        )

    def _gap(self) -> Float[Tensor, "*batch nq nk"]:
        return self.query_positions[..., :, None] - self.key_positions[..., None, :]

    def visible(self) -> Bool[Tensor, "*batch nq nk"] | None:
        """True where the query sees the key; None when everything is seen."""
        parts = [self.matrix] if self.matrix is not None else []
        if self.causal:
            parts.append(self._gap() >= 0)
        if self.width is not None:
            parts.append(self._gap().abs() <= self.width)
        if not parts:
            return None
        seen = parts[0]
        for part in parts[1:]:
            seen = seen & part
        return seen

    def penalty(self) -> Float[Tensor, "*batch nq nk"] | None:
        """What is subtracted from each score; None without a slope."""
        return None if self.slope is None else self.slope[..., None, None] * self._gap().abs()

    def key_bonus(self) -> Float[Tensor, "*batch nk"] | None:
        """The penalty in causal order, up to a constant per query, as a logit of the key.

        There ``slope * (position_i - position_j) = query_offset_i - key_bonus_j``; positions count
        from the last key, so that no bonus is positive.
        """
        return self._slope_times(self.key_positions)

    def query_offset(self) -> Float[Tensor, "*batch nq"] | None:
        """The constant per query that `key_bonus` leaves out."""
        return self._slope_times(self.query_positions)

    def _slope_times(self, positions: Tensor) -> Tensor | None:
        last = self.key_positions.amax(-1, keepdim=True)
        return None if self.slope is None else self.slope[..., None] * (positions - last)

    def visible_weight(self, log_w: KeyLogits) -> Float[Tensor, "*batch nq"]:
        """The weight of the keys that each query sees.

        Order and windows take O(n log n) by sums over intervals of sorted positions; an explicit
        matrix takes its product with the weights, some rows at a time.
        """
        if self.matrix is not None:
            return self._matrix_weight(log_w.exp())
        leading = (x.shape[:-1] for x in (self.query_positions, self.key_positions, log_w))
        batch = torch.broadcast_shapes(*leading)
        positions, order = self.key_positions.expand(*batch, -1).sort(dim=-1)
        w = log_w.exp().expand(*batch, -1).gather(-1, order)
        return interval_sums(w, *self._interval(positions))

    def _interval(self, sorted_keys: Tensor) -> tuple[Tensor, Tensor]:
        """The range of sorted keys that each query sees."""
        q, count = self.query_positions.expand(*sorted_keys.shape[:-1], -1), sorted_keys.shape[-1]
        start, stop = torch.zeros_like(q, dtype=torch.long), torch.full_like(q, count).long()
        if self.width is not None:
            near = self.width
            start = first_true(lambda j: q - sorted_keys.gather(-1, j) <= near, count, q)
            stop = first_true(lambda j: q - sorted_keys.gather(-1, j) < -near, count, q)
        if self.causal:
            later = first_true(lambda j: q - sorted_keys.gather(-1, j) < 0, count, q)
            stop = torch.minimum(stop, later)
        return start, stop

    def _matrix_weight(self, w: Tensor) -> Tensor:
        queries, keys = self.query_positions.shape[-1], self.key_positions.shape[-1]
        step = max(1, 2**18 // max(keys, 1))
        blocks = (self.rows(slice(i, i + step)).visible() for i in range(0, queries, step))
        column = w.unsqueeze(-1)
        sums = [block.to(w.dtype) @ column for block in blocks if block is not None]
        return torch.cat(sums, dim=-2).squeeze(-1)
