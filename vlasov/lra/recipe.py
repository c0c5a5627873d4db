"""How a model of the Long Range Arena is sized and trained: presets by task and size.

Size ``paper`` is the published one; ``cpu`` is for hours of two cores, ``tiny`` for seconds.

Source: :cite:`zhang2025pdetransformer`, Tables 8 and 9.
"""

__all__ = ["PRECISIONS", "SIZES", "Recipe", "recipe"]

import math
import warnings
from dataclasses import dataclass, replace

from vlasov._fields import require_kinds
from vlasov.catalogue import nearest
from vlasov.errors import InvalidValue

SIZES = ("tiny", "cpu", "paper")
"""The sizes that have presets."""

PRECISIONS = ("float32", "float64", "bfloat16")
"""Number formats of training; bfloat16 is autocast over float32 weights."""

_LENGTHS = {"listops": 2000, "text": 4000, "retrieval": 4000, "pathfinder": 1024, "image": 1024}
_CPU_LENGTHS = _LENGTHS | {"listops": 500, "text": 1000, "retrieval": 1000}
_CPU_LIMITS = {"listops": 9_000, "pathfinder": 9_000, "retrieval": 9_000}
_DEPTHS = {"listops": 6, "text": 6, "retrieval": 4, "pathfinder": 6, "image": 4}
_BATCHES = {"listops": 256, "text": 128, "retrieval": 64, "pathfinder": 512, "image": 1024}
_CAP = 0.1  # of a run, for a warm-up that would outlast it


@dataclass(frozen=True)
class Recipe:
    """Sizes of the model and settings of its training; every field may be replaced.

    Args:
        task: one of the five tasks.
        size: the preset it comes from.
        length: the most tokens of a sequence.
        width: numbers per token.
        depth: layers.
        heads: attention heads.
        mlp_width: hidden width of the MLP.
        batch: sequences of a step, over all processes and parts.
        accumulate: parts that the batch is summed over, for less memory.
        epochs: passes over the train examples, at most.
        learning_rate: its peak.
        warmup: steps of linear rise; below 1, a share of all steps.
        weight_decay: of matrices and tables; gains, offsets and diffusion have none.
        clip: largest norm of a gradient.
        dropout: share of numbers dropped.
        patience: epochs without a better validation before stopping; 0 never stops.
        precision: one of `PRECISIONS`.
        limit: the most train examples to load; None for all.
        as_published: keep a warm-up that outlasts the run, instead of capping it.

    Raises:
        InvalidValue: for a number outside its range.
        UnknownName: for an unknown task, size or precision.
    """

    task: str
    size: str
    length: int
    width: int = 128
    depth: int = 6
    heads: int = 8
    mlp_width: int = 512
    batch: int = 32
    accumulate: int = 1
    epochs: int = 50
    learning_rate: float = 1e-3
    warmup: int | float = 10_000
    weight_decay: float = 1e-5
    clip: float = 1.0
    dropout: float = 0.1
    patience: int = 10
    precision: str = "float32"
    limit: int | None = None
    as_published: bool = False

    def __post_init__(self) -> None:
        require_kinds(self)
        _require_known("task", self.task, _LENGTHS)
        _require_known("size", self.size, SIZES)
        _require_known("precision", self.precision, PRECISIONS)
        for name in ("length", "width", "depth", "heads", "mlp_width", "batch", "epochs"):
            _require(name, getattr(self, name) >= 1, "at least 1", getattr(self, name))
        _require("accumulate", 1 <= self.accumulate <= self.batch, "1 to batch", self.accumulate)
        _require("limit", self.limit is None or self.limit >= 1, "at least 1", self.limit)
        _require("patience", self.patience >= 0, "0 (never stop) or more", self.patience)
        _require("dropout", 0 <= self.dropout < 1, "in [0, 1)", self.dropout)
        for name in ("learning_rate", "clip"):
            value = getattr(self, name)
            _require(name, math.isfinite(value) and value > 0, "finite and above 0", value)
        for name in ("warmup", "weight_decay"):
            value = getattr(self, name)
            _require(name, math.isfinite(value) and value >= 0, "finite and 0 or more", value)

    def steps(self, examples: int) -> int:
        """Steps of the whole run on that many train examples."""
        return self.epochs * math.ceil(examples / self.batch)

    def warmup_steps(self, steps: int) -> int:
        """Steps of the rise in a run of so many; capped with a warning, unless `as_published`.

        Example:
            >>> recipe("listops", "cpu").warmup_steps(600)
            60
        """
        wanted = round(self.warmup * steps) if self.warmup < 1 else round(self.warmup)
        if wanted < steps or self.as_published:
            return wanted
        capped = max(1, round(_CAP * steps))
        warnings.warn(
            f"The warm-up should end before the run but takes {wanted} of {steps} steps; it is "
            f"cut to {capped}. Set as_published to keep it.",
            stacklevel=2,
        )
        return capped


def recipe(task: str, size: str) -> Recipe:
    """The preset of a task and a size.

    Raises:
        UnknownName: for a task or size without one.

    Example:
        >>> recipe("image", "paper").batch
        1024
    """
    _require_known("task", task, _LENGTHS)
    _require_known("size", size, SIZES)
    published = Recipe(task, "paper", _LENGTHS[task], depth=_DEPTHS[task], batch=_BATCHES[task])
    if size == "paper":
        return published
    small = replace(published, size=size, length=_CPU_LENGTHS[task], warmup=0.1, batch=32)
    if size == "cpu":
        return replace(
            small,
            width=32,
            depth=2,
            heads=2,
            mlp_width=64,
            batch=16,
            learning_rate=4e-3,
            epochs=6,
            patience=3,
            limit=_CPU_LIMITS.get(task),
        )
    return replace(
        small,
        length=200 if task in ("text", "retrieval") else published.length,
        width=16,
        depth=1,
        heads=2,
        mlp_width=32,
        epochs=2,
        batch=8,
        limit=32,
    )


def _require_known(kind: str, found: str, known: tuple[str, ...] | dict[str, int]) -> None:
    if found not in known:
        raise nearest(found, known, kind=kind)


def _require(name: str, holds: bool, wanted: str, found: object) -> None:
    if not holds:
        raise InvalidValue(f"{name} must be {wanted} but is {found}; correct the recipe.")
