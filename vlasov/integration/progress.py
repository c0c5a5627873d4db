"""What the loop carries from step to step besides the time and the state."""

__all__ = ["PER_SYSTEM", "Progress"]

from dataclasses import dataclass, field

import torch
from torch import Tensor

PER_SYSTEM = ("error", "slope", "size", "ratio", "broken")
"""The values that have one entry, or one state, for each system of a batch."""


@dataclass
class Progress:
    """Plain numbers and tensors only, so that a weights-only load reads them back.

    The loop rebinds these values and never changes one in place: a copy of the mapping is a
    snapshot.
    """

    steps: int = 0
    """Accepted steps; in a batch, passes in which at least one system moved."""
    rejected: int = 0
    """Trial passes in which at least one system was sent back."""
    evaluations: int = 0
    """Calls of the field, a batched call counting once."""
    segment: int = 0
    """Index of the segment being crossed."""
    within: int = 0
    """Steps taken inside it."""
    saved_at: float | None = None
    """Time of the last save."""
    ended: dict[int, tuple[str, float]] = field(default_factory=dict[int, tuple[str, float]])
    """Status and time of every system (flat index) that stopped by itself."""
    events: tuple[tuple[str, float, int], ...] = ()
    """Name, located time and system of every event so far."""
    error: Tensor | None = None
    """Sum over the steps of the largest local error estimate, per system."""
    slope: Tensor | None = None
    """Field at the current point, where the last step left it behind."""
    size: Tensor | None = None
    """Next step size, per system (adaptive steps)."""
    ratio: Tensor | None = None
    """Error over tolerance of the last accepted step, per system (adaptive steps)."""
    broken: Tensor | None = None
    """Whether the last trial was not finite, per system (adaptive steps)."""
    anchor: Tensor | None = None
    """State from which the solver's steps can be repeated (stiff solver)."""
    anchor_t: float = 0.0
    """Time of that state."""
    anchor_steps: int = 0
    """Steps of the solver since then."""
    generator: Tensor | None = None
    """State of the random generator (noise)."""

    def add_error(self, local: Tensor, taken: Tensor | None) -> None:
        """Add the local error of the systems in `taken` (None: of all) to their sum."""
        finite = torch.isfinite(local)  # a system that is lost in this step stops before it
        local = torch.where(finite if taken is None else finite & taken, local, 0.0)
        self.error = local if self.error is None else self.error + local
