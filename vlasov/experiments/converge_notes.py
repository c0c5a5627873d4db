"""What the reader of a convergence study must know: stability, and where the theory stops."""

__all__ = ["Stability", "stability", "warnings"]

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from vlasov.attention import Attention, HeadMixture, Softmax, Unnormalised
from vlasov.errors import Unsupported
from vlasov.experiments.converge_reference import BEYOND, FlowReference
from vlasov.experiments.converge_study import Study
from vlasov.theory import log_stability

# the delta-method variance of the field, averaged over the law, is finite below (spec 5)
_LARGEST: Mapping[type[Attention], float] = {Softmax: math.sqrt(0.5), Unnormalised: 0.5}


@dataclass(frozen=True)
class Stability:
    """The largest measured ratio of distances, and the bound that theory gives for it.

    `log_bound` is None where no explicit constant is known.
    """

    ratio: float
    radius: float
    log_bound: float | None

    def sentence(self, study: Study) -> str:
        """Both, in words."""
        p, t = study.config.p, study.config.time
        measured = (
            f"Stability: W_{p:g} of two clouds of {study.config.ns[0]} tokens grew at most by "
            f"{self.ratio:.4g} (log {math.log(self.ratio):.3g}) up to t = {t:g}"
        )
        if self.log_bound is None:
            return f"{measured}; no explicit constant is known for this equation."
        kept = "below" if math.log(self.ratio) <= self.log_bound else "ABOVE"
        return (
            f"{measured}, {kept} the bound log C(t, R_0) = {self.log_bound:.4g} for supports "
            f"within R_0 = {self.radius:.4g}."
        )


def stability(study: Study, found: Mapping[str, Tensor]) -> Stability | None:
    """The stability estimate of clouds of the smallest size; None without two finite clouds."""
    if len(found["before"]) == 0:
        return None
    radius = float(found["radius"].max())
    ratio = float((found["after"] / found["before"]).max())
    return Stability(ratio, radius, _log_bound(study, radius))


def _log_bound(study: Study, radius: float) -> float | None:
    power = study.config.p if study.config.p > 1 else None
    atom = 1 / study.reference.groups
    try:
        return log_stability(study.pde, radius, study.config.time, atom=atom, power=power)
    except Unsupported:
        return None


def warnings(study: Study) -> Iterator[str]:
    """Where the limit of n and that of time do not commute, or the theorem does not reach."""
    reference, time = study.reference, study.config.time
    yield from _fewer(study)
    if study.source.gaussian is not None:
        yield (
            "A Gaussian law has no compact support: the mean-field theorem does not cover it, "
            "and the rates are those of the delta method. Compare with --law ball or cube."
        )
    if not isinstance(reference, FlowReference):
        return
    end = reference.reduction.blow_up_time
    if end is not None:
        yield (
            f"The limit blows up at t* = {float(end):.6g}, clouds of n tokens do not: n to "
            f"infinity and t to t* do not commute, and t = {time:g} is above {BEYOND:g} t*."
        )
    yield from _heavy_tails(study, reference)


def _fewer(study: Study) -> Iterator[str]:
    """How many clouds, where it is not the same number for every n."""
    config = study.config
    if len(set(config.seeds)) > 1:
        counts = ", ".join(f"{config.clouds(n)} of {n}" for n in config.ns)
        yield f"Clouds: {counts} tokens. Slopes weigh each n by its number of clouds."


def _heavy_tails(study: Study, reference: FlowReference) -> Iterator[str]:
    """The norm of R A R, R the root of the covariance, along the window."""
    attention, path = study.pde.attention, study.pde.path(reference.law)
    run = reference.reduction
    inside = [k for k, t in enumerate(run.times.tolist()) if t <= study.config.time]
    for frame in inside:
        maps = path.at(float(run.times[frame])).maps()
        score = study.pde.beta * maps["key"].mT @ maps["query"]
        factor = run.law(frame).factor
        norms = torch.linalg.matrix_norm(factor.mT @ score @ factor, ord=2).tolist()
        for h, norm in enumerate(norms):
            member = attention.members[h] if isinstance(attention, HeadMixture) else attention
            limit = _LARGEST.get(type(member), math.inf)
            if norm >= limit:
                yield (
                    f"||R A R|| reaches {norm:.4g} at t = {float(run.times[frame]):.3g}, where "
                    f"R is the root of the covariance: from {limit:.4g} on the average variance "
                    "of what a token sees is infinite, and the n^(-1/2) rate of the coupling "
                    "error is lost."
                )
                return
