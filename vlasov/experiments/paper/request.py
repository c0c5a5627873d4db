"""What is asked of a figure: its seed, its scale, its size, and where finished pieces are kept."""

__all__ = ["Request"]

from dataclasses import dataclass, field

import torch

from vlasov.errors import InvalidValue
from vlasov.experiments.experiment import Context


@dataclass(frozen=True, eq=False)
class Request:
    """How a figure is to be computed.

    Attributes:
        seed: of every draw; 0 gives the outcomes that the figure of the paper shows.
        as_published: the scale, the thresholds and the panels of the scripts.
        size: points along a side of the grid, or draws of a histogram; None for the paper's.
        context: where pieces are kept.
    """

    seed: int = 0
    as_published: bool = False
    size: int | None = None
    context: Context = field(default_factory=Context)

    def __post_init__(self) -> None:
        if self.size is not None and self.size < 1:
            raise InvalidValue(f"A figure has a size of at least 1 but got {self.size}; give 10.")

    def generator(self, stream: int) -> torch.Generator:
        """Explicit randomness; figures of one seed differ by their streams."""
        return torch.Generator().manual_seed(self.seed + stream)
