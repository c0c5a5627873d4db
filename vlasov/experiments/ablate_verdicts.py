"""What happens to a network, in words that follow from thresholds."""

__all__ = ["STABLE", "thresholds", "verdict"]

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

STABLE = "none of these"
"""The verdict where no rule holds."""

Found = Mapping[str, Tensor]
"""Measures of a case, ``(seeds, layers)``; `overflow` is ``(seeds,)``, -1 for none."""


@dataclass(frozen=True)
class _Rule:
    """A word, the measure behind it, and the bound that makes it true.

    With `extreme` the verdict shows how far the measure goes instead of the layer where the bound
    is passed.
    """

    word: str
    measure: str
    value: Callable[[Found], Float[Tensor, "seeds layers"]]
    bound: float
    above: bool = True
    extreme: bool = False

    @property
    def condition(self) -> str:
        """The word with its threshold."""
        return f"{self.word}: {self.measure} {'above' if self.above else 'below'} {self.bound:g}"

    def sentence(self, found: Found) -> str | None:
        """The verdict, if it holds for any sample."""
        value = self.value(found)
        holds = value > self.bound if self.above else value < self.bound
        hit = holds.any(-1)
        if not bool(hit.any()):
            return None
        if self.extreme:
            where = f"(x {_extreme(value[hit], above=self.above):.3g})"
        else:
            where = f"by layer {int(holds.int().argmax(-1)[hit].max())}"
        return f"{self.word} {where}{_share(hit)}"


def _extreme(value: Tensor, *, above: bool) -> float:
    """The largest or smallest value of each sample, as a geometric mean."""
    logs = value.log()
    known = logs.isfinite()
    ends = (
        logs.where(known, -torch.inf).amax(-1) if above else logs.where(known, torch.inf).amin(-1)
    )
    return float(ends[ends.isfinite()].mean().exp())


_RULES = (
    _Rule("collapses", "token cosine", lambda found: found["token_cosine"], 0.99),
    _Rule("norm explodes", "norm over that of the input",
          lambda found: found["norm"] / found["norm"][:, :1], 100.0, extreme=True),
    _Rule("norm vanishes", "norm over that of the input",
          lambda found: found["norm"] / found["norm"][:, :1], 0.01, above=False, extreme=True),
    _Rule("drifts", "cosine with the input",
          lambda found: found["input_cosine"], 0.1, above=False),
    _Rule("gradient explodes", "gradient over that of the output",
          lambda found: _gradient(found), 100.0, extreme=True),
    _Rule("gradient vanishes", "gradient over that of the output",
          lambda found: _gradient(found), 0.01, above=False, extreme=True),
)  # fmt: skip


def thresholds() -> str:
    """The thresholds of all verdicts, in a sentence."""
    return f"Verdicts, at any layer: {'; '.join(rule.condition for rule in _RULES)}."


def verdict(found: Found) -> str:
    """The verdict on one network of the grid, over its samples."""
    return "; ".join(_parts(found)) or STABLE


def _parts(found: Found) -> Iterator[str]:
    lost = found["overflow"] >= 0
    if bool(lost.any()):
        yield f"overflows at layer {int(found['overflow'][lost].min())}{_share(lost)}"
    for rule in _RULES:
        sentence = rule.sentence(found)
        if sentence is not None:
            yield sentence


def _gradient(found: Found) -> Tensor:
    """NaN, which passes no bound, for a system without a gradient."""
    if "gradient" not in found:
        return torch.full_like(found["norm"], torch.nan)
    return found["gradient"] / found["gradient"][:, -1:]


def _share(hit: Tensor) -> str:
    count = int(hit.sum())
    return "" if count == len(hit) else f" in {count} of {len(hit)} samples"
