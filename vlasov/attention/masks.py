r"""Masks: which tokens a token may see, by the order or the distance of their positions.

.. math:: i \text{ sees } j \iff s_j \le s_i \text{ (causal)}, \qquad
          |s_i - s_j| \le \mathrm{width} \text{ (window)}
"""

__all__ = ["MASKS", "Alibi", "Causal", "Explicit", "Mask", "Window", "build_mask"]

import abc
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor

from vlasov.catalogue import Catalogue
from vlasov.engines.visibility import Visibility
from vlasov.errors import InvalidValue, ShapeMismatch

Positions = Float[Tensor, "*batch n"]


class Mask(abc.ABC):
    """A rule of visibility, before it meets the positions of a cloud."""

    name: ClassVar[str]

    @abc.abstractmethod
    def bind(
        self,
        query_positions: Float[Tensor, "*#batch nq"],
        key_positions: Float[Tensor, "*#batch nk"],
    ) -> Visibility:
        """The rule on given positions, of shape ``(*batch, 1, n)``: the 1 stands for the heads."""


@dataclass(frozen=True)
class Causal(Mask):
    """Keys whose position is not later than the query's; equal positions see each other.

    Source: Castin et al., arXiv:2501.18322, masked attention, with ties seen from both sides.
    """

    name: ClassVar[str] = "causal"

    def bind(  # noqa: D102
        self,
        query_positions: Float[Tensor, "*#batch nq"],
        key_positions: Float[Tensor, "*#batch nk"],
    ) -> Visibility:
        return Visibility(query_positions, key_positions, causal=True)


@dataclass(frozen=True)
class Window(Mask):
    """Keys at most `width` away in position and, if `causal`, not later.

    Source: Beltagy, Peters and Cohan, Longformer, arXiv:2004.05150 (sliding window).
    """

    name: ClassVar[str] = "window"
    width: float = math.nan
    causal: bool = False

    def __post_init__(self) -> None:
        if not self.width >= 0:
            raise InvalidValue(
                f"A window takes a width >= 0 but got {self.width}; write 'window:width=8'."
            )

    def bind(  # noqa: D102
        self,
        query_positions: Float[Tensor, "*#batch nq"],
        key_positions: Float[Tensor, "*#batch nk"],
    ) -> Visibility:
        return Visibility(query_positions, key_positions, causal=self.causal, width=self.width)


@dataclass(frozen=True)
class Alibi(Mask):
    r"""Scores lowered in proportion to the distance of positions.

    .. math:: s_{ij} = \beta\langle Qx_i, Kx_j\rangle - \mathrm{slope}\,|p_i - p_j|

    A tuple of slopes gives each head its own. With `causal`, later keys are hidden too.

    Source: Press, Smith and Lewis, Train short, test long, arXiv:2108.12409, Eq. in section 3.
    """

    name: ClassVar[str] = "alibi"
    slope: float | tuple[float, ...] = math.nan
    causal: bool = False

    def __post_init__(self) -> None:
        slopes = self.slope if isinstance(self.slope, tuple) else (self.slope,)
        if not slopes or not all(0 <= slope < math.inf for slope in slopes):
            raise InvalidValue(
                f"ALiBi takes finite slopes >= 0 but got {self.slope}; write "
                f"'alibi:slope=0.5', or give one per head."
            )

    def bind(  # noqa: D102
        self,
        query_positions: Float[Tensor, "*#batch nq"],
        key_positions: Float[Tensor, "*#batch nk"],
    ) -> Visibility:
        slope = torch.as_tensor(self.slope, dtype=key_positions.dtype, device=key_positions.device)
        return Visibility(query_positions, key_positions, causal=self.causal, slope=slope)


@dataclass(frozen=True, eq=False)
class Explicit(Mask):
    """A boolean matrix, True where the query (row) sees the key (column).

    `matrix` has shape ``(n, n)``, or ``(*batch, n, n)`` for members of a batch. A float or integer
    matrix of 0 and 1 is refused: some libraries add such a matrix, some read it the other way.
    """

    name: ClassVar[str] = "explicit"
    matrix: Tensor | Sequence[Sequence[bool]]

    def __post_init__(self) -> None:
        matrix = torch.as_tensor(self.matrix)
        if matrix.dtype != torch.bool:
            raise InvalidValue(
                f"An explicit mask takes a boolean matrix, True where the row sees the column, "
                f"but got {matrix.dtype}; write `matrix.bool()` if 1 means that it sees."
            )
        object.__setattr__(self, "matrix", matrix)

    def bind(  # noqa: D102
        self,
        query_positions: Float[Tensor, "*#batch nq"],
        key_positions: Float[Tensor, "*#batch nk"],
    ) -> Visibility:
        matrix = torch.as_tensor(self.matrix, device=key_positions.device)
        wanted = (query_positions.shape[-1], key_positions.shape[-1])
        if tuple(matrix.shape[-2:]) != wanted:
            raise ShapeMismatch(
                f"The explicit mask has shape {tuple(matrix.shape)} but there are {wanted[0]} "
                f"queries and {wanted[1]} keys; give one row per query."
            )
        if matrix.ndim > 2:
            matrix = matrix.unsqueeze(-3)
        return Visibility(query_positions, key_positions, matrix=matrix)


MASKS: Catalogue[Mask] = Catalogue("mask", [Causal, Window, Alibi])


def build_mask(mask: str | Mask | Tensor | None) -> Mask | None:
    """The mask that a spec string or a boolean matrix describes; None sees everything."""
    if mask is None or isinstance(mask, Mask):
        return mask
    return MASKS.build(mask) if isinstance(mask, str) else Explicit(torch.as_tensor(mask))
