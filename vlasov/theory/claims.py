"""Comparisons of promises with runs; each number carries the largest miss that was seen."""

__all__ = ["below", "equal", "falling", "no_end_before", "only_gaussian"]

import torch
from torch import Tensor

from vlasov.theory.history import History
from vlasov.theory.statement import Claim, Verdict


def below(values: Tensor, bounds: Tensor, *, what: str, slack: float) -> Verdict:
    """Whether each value is at most its bound."""
    if not bool(values.isfinite().all()):
        return _beyond(what)
    finite = bounds.isfinite()
    share = torch.where(finite, values / torch.where(bounds == 0, 1e-300, bounds), 0.0)
    worst = float(share.max())
    word = "agreed" if worst <= 1 + slack else "violated"
    return Verdict(word, f"{what} reaches {worst:.6g} of its bound over {len(values)} frames")


def equal(values: Tensor, expected: Tensor, *, what: str, slack: float) -> Verdict:
    """Whether the values are the expected ones, relative to the largest of these."""
    if not bool((values.isfinite() & expected.isfinite()).all()):
        return _beyond(what)
    size = expected.abs().flatten(1).amax(-1) if expected.dim() > 1 else expected.abs()
    miss = (values - expected).abs()
    miss = miss.flatten(1).amax(-1) if miss.dim() > 1 else miss
    worst = float((miss / torch.where(size > 0, size, 1.0)).max())
    word = "agreed" if worst <= slack else "violated"
    return Verdict(
        word, f"{what} is off by {worst:.3g} at most, relative, over {len(values)} frames"
    )


def falling(values: Tensor, *, what: str, slack: float) -> Verdict:
    """Whether the values never rise."""
    if len(values) < 2:
        return Verdict("not checkable", "the run has one frame")
    if not bool(values.isfinite().all()):
        return _beyond(what)
    rise = float(values.diff().max()) / max(float(values.abs().max()), 1e-300)
    word = "agreed" if rise <= slack else "violated"
    first, last = float(values[0]), float(values[-1])
    return Verdict(
        word, f"{what} goes from {first:.6g} to {last:.6g}; largest relative step {rise:.3g}"
    )


def _beyond(what: str) -> Verdict:
    return Verdict("not checkable", f"{what} leaves the range of numbers")


def no_end_before(time: float) -> Claim:
    """The claim that nothing blows up before this time (infinite: never)."""

    def claim(history: History, slack: float) -> Verdict:
        if history.end is None:
            return Verdict("agreed", f"no blow-up up to t = {float(history.times[-1]):.6g}")
        allowed = time * (1 - slack) - history.resolution
        word = "agreed" if history.end >= allowed else "violated"
        return Verdict(word, f"blow-up at t = {history.end:.10g}, not before {time:.10g}")

    return claim


def only_gaussian(claim: Claim) -> Claim:
    """The claim for Gaussian laws; of a cloud nothing is promised."""

    def restricted(history: History, slack: float) -> Verdict:
        if not history.gaussian:
            return Verdict("not checkable", "the promise is about a Gaussian law, this is a cloud")
        return claim(history, slack)

    return restricted
