"""The rule that tells convergence, blow-up, exponential divergence and motion apart."""

__all__ = ["Figures", "Rule", "classified", "passages", "sentences"]

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from vlasov.errors import ShapeMismatch

PerSystem = Float[Tensor, "*batch"]

_GROWN = {"blow-up": "blow-up", "exponential": "exponential divergence"}


@dataclass(frozen=True)
class Rule:
    """The thresholds of the classification.

    Attributes:
        speed: the largest ``|Sigma'|_F`` of a converged run, per unit of time, over the trace at
            the start.
        levels: growth of the trace whose times of passage are compared; beyond the second a run
            has diverged.
        accumulating: the largest gap of the last two passages over the gap before, at a blow-up
            (1/100 under softmax; 1 for exponential growth).
        share: the smallest eigenvalue that counts for the rank, over the trace at the end;
        floor: and over the trace at the start.

    Source: spec 5.1, relative to the start.
    """

    speed: float = 1e-6
    levels: tuple[float, float, float] = (1e4, 1e6, 1e8)
    accumulating: float = 0.5
    share: float = 1e-2
    floor: float = 1e-3


@dataclass(frozen=True, eq=False)
class Figures:
    """The numbers of one end, or of a batch of them.

    Attributes:
        speed: ``|Sigma'|_F`` over the trace at the start, per unit of time.
        growth: the trace over that at the start.
        rank: the number of eigenvalues above the thresholds.
        passages: the times at which the trace passed the levels; NaN where it did not.
    """

    speed: PerSystem
    growth: PerSystem
    rank: Int[Tensor, "*batch"]
    passages: Float[Tensor, " levels *batch"]


def passages(
    times: Float[Tensor, " f"], growth: Float[Tensor, " f *batch"], levels: Sequence[float]
) -> Float[Tensor, " levels *batch"]:
    """The first times at which the growth reaches each level, its logarithm joined by lines."""
    at = times.to(growth).reshape(-1, *[1] * (growth.dim() - 1)).expand(growth.shape)
    found = [torch.full_like(growth[0], torch.nan) for _ in levels]
    for before, after, t, later in zip(growth[:-1], growth[1:], at[:-1], at[1:], strict=True):
        for k, level in enumerate(levels):
            crossed = (before < level) & (after >= level)
            part = (level / before).log() / (after / before).log()
            found[k] = torch.where(crossed & found[k].isnan(), t + part * (later - t), found[k])
    return torch.stack(found)


def classified(figures: Figures, rule: Rule, statuses: Sequence[str]) -> tuple[str, ...]:
    """The kind of each system; what the integration has found out itself comes first.

    Raises:
        ShapeMismatch: for another number of statuses than of systems.
    """
    count = figures.speed.numel()
    if statuses and len(statuses) != count:
        raise ShapeMismatch(
            f"Each system has one status but {count} systems came with {len(statuses)}; give one "
            "each, or none."
        )
    seen = figures.passages.reshape(3, -1)
    ratio = (seen[2] - seen[1]) / (seen[1] - seen[0])
    rows = zip(
        statuses or ("",) * count,
        figures.growth.flatten().tolist(),
        figures.speed.flatten().tolist(),
        ratio.tolist(),
        strict=True,
    )
    return tuple(_kind(status, growth, speed, gap, rule) for status, growth, speed, gap in rows)


def _kind(status: str, growth: float, speed: float, gap: float, rule: Rule) -> str:
    if status in _GROWN:
        return _GROWN[status]
    if gap == gap:
        return "blow-up" if gap < rule.accumulating else "exponential divergence"
    if not growth < rule.levels[1]:
        return "diverged"
    return "converged" if speed < rule.speed else "still moving"


_CALM = 100.0  # growth of the trace below which it is not what ended the solution


def sentences(
    kinds: Sequence[str], figures: Figures, rule: Rule, statuses: Sequence[str] = ()
) -> tuple[str, ...]:
    """One sentence for each system, with the numbers that decided."""
    rows = zip(
        kinds,
        statuses or ("",) * len(kinds),
        figures.growth.flatten().tolist(),
        figures.speed.flatten().tolist(),
        figures.rank.flatten().tolist(),
        strict=True,
    )
    return tuple(_sentence(*row, rule) for row in rows)


def _sentence(kind: str, status: str, growth: float, speed: float, rank: int, rule: Rule) -> str:
    if kind == "converged":
        return (
            f"The covariance converged to rank {rank} (eigenvalues above {rule.share:g} of its "
            f"trace and {rule.floor:g} of that at the start): relative speed {speed:.2g} < "
            f"{rule.speed:g}."
        )
    if kind == "still moving":
        early = status not in {"", "finished"}
        advice = f"the run ended early ({status})" if early else "run longer"
        return (
            f"The covariance still moves, at relative speed {speed:.2g} >= {rule.speed:g}, with "
            f"{growth:.4g} times its trace at the start; {advice}."
        )
    if kind == "blow-up" and growth < _CALM:
        return (
            f"The velocity became infinite where the trace had grown {growth:.3g} times only: the "
            "law leaves the domain of its equation in finite time."
        )
    reasons = {
        "blow-up": "passing equal factors faster and faster: it blows up in finite time",
        "exponential divergence": "at a steady rate: it diverges without a blow-up",
        "diverged": "too early to tell a blow-up from exponential growth; record more frames",
    }
    return f"The trace grew {growth:.3g} times, {reasons[kind]}."
