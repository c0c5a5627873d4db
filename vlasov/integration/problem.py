r"""An initial-value problem on plain tensors.

.. math:: \dot x = f(t, x), \qquad x(t_0) = x_0
"""

__all__ = ["Problem", "Retraction"]

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import torch
from jaxtyping import Shaped
from torch import Tensor

from vlasov.errors import InvalidValue, NotFinite, ShapeMismatch, Unsupported
from vlasov.integration.field import Field
from vlasov.integration.noise import Noise

Retraction = Callable[[Tensor], Tensor]


@dataclass(frozen=True, eq=False)
class Problem:
    """A field, where it starts and when it ends.

    `retract` brings the state back to its manifold at the end of every step; None is flat space.
    At each of `breaks` the field jumps (it is right-continuous there): steps land on them and
    never look across. The last `system_ndim` axes form one system, the leading ones are a batch of
    independent systems. `magnitude` gives, entry by entry, the size that the error of an adaptive
    step is compared with, where that is not the absolute value of the entry. `vectorised` says
    that the field accepts further leading axes and treats them independently.

    Raises:
        NotFinite: if the initial state holds NaN or infinity.
        InvalidValue: for times that are not finite or a state that is not floating point.
        ShapeMismatch: if the initial state has fewer than `system_ndim` axes.
        Unsupported: for noise with an end before the start.
    """

    field: Field
    initial: Shaped[Tensor, "*state"]
    until: float
    start: float = 0.0
    retract: Retraction | None = None
    noise: Noise | None = None
    breaks: tuple[float, ...] = ()
    system_ndim: int = 2
    vectorised: bool = False
    magnitude: Callable[[Tensor], Tensor] = torch.abs

    def __post_init__(self) -> None:
        if self.initial.numel() == 0 or not self.initial.is_floating_point():
            raise InvalidValue(
                f"An initial state is a non-empty tensor of floating-point numbers but this "
                f"one has shape {tuple(self.initial.shape)}, {self.initial.dtype}. Convert it."
            )
        if self.initial.ndim < self.system_ndim:
            raise ShapeMismatch(
                f"A system has {self.system_ndim} axes but the initial state has shape "
                f"{tuple(self.initial.shape)}. Add the missing axes or lower `system_ndim`."
            )
        if not (math.isfinite(self.start) and math.isfinite(self.until)):
            raise InvalidValue(
                f"A run needs finite times but goes from {self.start} to {self.until}. "
                f"Give numbers."
            )
        bad = int((~torch.isfinite(self.initial)).sum())
        if bad:
            raise NotFinite(
                f"The initial state must be finite but {bad} of {self.initial.numel()} entries "
                f"are NaN or infinite. Remove or repair them."
            )
        if self.noise is not None and self.until < self.start:
            raise Unsupported(
                f"Noise cannot be run backwards but the run goes from {self.start} to "
                f"{self.until}. Drop the noise or swap the times."
            )

    @property
    def batch_shape(self) -> torch.Size:
        """Shape of the batch of systems; empty for a single one."""
        return self.initial.shape[: self.initial.ndim - self.system_ndim]

    @property
    def members(self) -> int:
        """Number of systems."""
        return math.prod(self.batch_shape)

    @property
    def direction(self) -> float:
        """1 forwards in time, -1 backwards."""
        return -1.0 if self.until < self.start else 1.0

    def mask_without(self, members: Iterable[int]) -> Tensor:
        """True for all systems but the given ones (flat indices)."""
        mask = torch.ones(self.members, dtype=torch.bool, device=self.initial.device)
        mask[list(members)] = False
        return mask.reshape(self.batch_shape)

    def back(self, x: Tensor) -> Tensor:
        """The state `x` brought back to its manifold."""
        return x if self.retract is None else self.retract(x)

    def lost(self, x: Tensor) -> Tensor | None:
        """The systems with NaN or infinity; None where there is none."""
        x = x.detach()
        if math.isfinite(float(x.sum())):  # one number settles the usual case
            return None
        axes = tuple(range(-self.system_ndim, 0))
        lost = ~torch.isfinite(x).all(dim=axes) if axes else ~torch.isfinite(x)
        return lost if bool(lost.any()) else None

    def per_system(self, x: Tensor) -> Tensor:
        """The largest magnitude in each system."""
        axes = tuple(range(-self.system_ndim, 0))
        return x.abs().amax(axes) if axes else x.abs()
