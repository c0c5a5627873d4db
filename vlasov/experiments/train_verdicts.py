"""What becomes of a network in training, in words that follow from thresholds."""

__all__ = ["LEARNS", "thresholds", "verdict", "verdict_table"]

from collections.abc import Iterator, Mapping, Sequence

from torch import Tensor

from vlasov.experiments.report import Table
from vlasov.experiments.train_loop import LAST, SPIKE, last_loss
from vlasov.experiments.train_tables import Found

LEARNS = 0.9
"""A last loss below this share of chance is learning."""

_WORSE = 1.1  # above this share of chance: worse than chance

ByRate = Mapping[float, Mapping[str, Tensor]]
"""The measures of one network at each learning rate, from the smallest to the largest."""


def thresholds() -> str:
    """The thresholds of all verdicts, in a sentence."""
    return (
        f"Verdicts: diverged: a loss or gradient that is not finite, or a loss above {SPIKE:g} "
        "times the first; training ends there. stable: no seed diverged. learns: stable, and the "
        f"mean of the last {LAST} losses is below {LEARNS:g} of chance; worse than chance: above "
        f"{_WORSE:g} of it; near chance: between."
    )


def verdict_table(found: Found, chance: float) -> Table:
    """What becomes of each network, in words."""
    by_case: dict[object, dict[float, Mapping[str, Tensor]]] = {}
    for trial, measured in found.items():
        by_case.setdefault(trial.case, {})[trial.rate] = measured
    rows = tuple(
        (case.depth, case.mlp, case.label, verdict(by_case[case], chance))
        for case in dict.fromkeys(trial.case for trial in found)
    )
    return Table(("depth", "mlp", "network", "verdict"), rows)


def verdict(by_rate: ByRate, chance: float) -> str:
    """The verdict on one network: where it is stable, what it reaches, where it diverges."""
    return "; ".join(_parts(by_rate, chance))


def _parts(by_rate: ByRate, chance: float) -> Iterator[str]:
    rates = list(by_rate)
    lost = {rate: int((one["diverged"] >= 0).sum()) for rate, one in by_rate.items()}
    stable = {rate: float(last_loss(by_rate[rate]["loss"]).mean()) for rate in rates
              if not lost[rate]}  # fmt: skip
    if len(rates) > 1 and stable:
        yield f"stable for {_spans(rates, list(stable))}"
    if stable:
        best = min(stable, key=lambda rate: stable[rate])
        share = stable[best] / chance
        learned = [rate for rate in stable if stable[rate] < LEARNS * chance]
        where = f" for {_spans(rates, learned)}" if learned and len(rates) > 1 else ""
        at = f", best at rate {best:g}" if len(rates) > 1 else ""
        yield f"{_word(share)}{where} (loss {stable[best]:.3g}, {share:.3g} of chance{at})"
    for rate in rates:
        if lost[rate]:
            steps = by_rate[rate]["diverged"]
            seeds = "" if lost[rate] == len(steps) else f" in {lost[rate]} of {len(steps)} seeds"
            yield f"diverged at step {int(steps[steps >= 0].min())} at rate {rate:g}{seeds}"
            return


def _word(share: float) -> str:
    if share < LEARNS:
        return "learns"
    return "near chance" if share <= _WORSE else "worse than chance"


def _spans(rates: Sequence[float], kept: Sequence[float]) -> str:
    """The kept rates as ranges of neighbours, such as "rates 0.0001 to 0.01"."""
    spans: list[list[float]] = []
    before: float | None = None
    for rate in rates:
        if rate in kept:
            if before in kept and spans:
                spans[-1].append(rate)
            else:
                spans.append([rate])
        before = rate
    words = [f"{x[0]:g}" if len(x) == 1 else f"{x[0]:g} to {x[-1]:g}" for x in spans]
    return f"rate{'' if len(kept) == 1 else 's'} {' and '.join(words)}"
