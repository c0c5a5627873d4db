"""Statements about the support: existence, growth, stability, masks, finite clouds."""

__all__ = ["support_statements"]

import math

import torch
from torch import Tensor

from vlasov.attention import Hardmax, Linear, Sinkhorn, Unnormalised
from vlasov.attention.masks import Causal
from vlasov.theory.case import Case
from vlasov.theory.claims import below, no_end_before
from vlasov.theory.constants import norms
from vlasov.theory.growth import existence_time, log_stability, support_radius
from vlasov.theory.history import History
from vlasov.theory.statement import Statement, Verdict


def support_statements(case: Case) -> tuple[Statement, ...]:
    """What compactness of the support gives, for equations of attention alone in R^d."""
    if case.heads is None or any(isinstance(one, Hardmax) for one in case.members):
        return ()
    bounded = all(one.bounded for one in case.members)
    found = [_compact(case, bounded=bounded)]
    if bounded and math.isfinite(case.radius):
        found += [_growth(case), _stability(case)]
    if case.only(Linear) or case.only(Unnormalised):
        found.append(_existence(case))
    if isinstance(case.pde.mask, Causal) and case.cloud is not None:
        found.append(_atom(case))
    return tuple(found)


def _compact(case: Case, *, bounded: bool) -> Statement:
    finite = math.isfinite(case.radius)
    what = f"R_0 = {case.radius:.6g}" if finite else "a Gaussian law reaches everywhere"
    return Statement(
        "compact support",
        finite,
        what,
        "one solution for all times, which n tokens approach"
        if bounded
        else "one solution up to a blow-up, which may come in finite time",
        "spec 1.3",
        no_end_before(math.inf) if bounded and finite else None,
    )


def _growth(case: Case) -> Statement:
    heads, end = norms(case.pde), support_radius(case.pde, case.radius, case.until)
    rate = sum(
        h.value / h.member.eps if isinstance(h.member, Sinkhorn) else h.value for h in heads
    )

    def claim(history: History, slack: float) -> Verdict:
        radius = history.radius
        if radius is None:
            return Verdict("not checkable", "a Gaussian law has no radius")
        bounds = case.radius * torch.exp(rate * (history.times - history.times[0])).to(radius)
        return below(radius, bounds, what="the largest norm", slack=slack)

    return Statement(
        "values bounded",
        True,
        f"the norms of the value maps sum to {rate:.6g} (over eps for Sinkhorn)",
        f"R(t) <= R_0 e^({rate:.4g} t), which is {end:.6g} at t = {case.until:g}; so n tokens "
        "never blow up, even where the Gaussian with their moments does",
        "spec 1.3, 5",
        claim,
    )


def _stability(case: Case) -> Statement:
    promise = "W_p(mu(t), nu(t)) <= C W_p(mu(0), nu(0)) for every p >= 1"
    if any(isinstance(one, Sinkhorn) for one in case.members):
        return _without_constant("Sinkhorn potentials have no explicit constant", promise)
    if case.pde.mask is not None and not isinstance(case.pde.mask, Causal):
        return _without_constant(f"no constant under the mask '{case.pde.mask.name}'", promise)
    if case.pde.beta < 0 and any(one.name == "l2" for one in case.members):
        return _without_constant("no constant for L2 attention with beta < 0", promise)
    masked = case.pde.mask is not None
    power = 2.0 if masked else None
    constant = log_stability(case.pde, case.radius, case.until, atom=_mass(case), power=power)
    distance = "in the conditional distance d_2" if masked else promise
    return Statement(
        "stability",
        True,
        f"log C({case.until:g}, R_0) = {constant:.6g}",
        f"{distance}: C at most e^({constant:.4g}), a very loose bound",
        "spec 1.3, 1.4",
    )


def _without_constant(why: str, promise: str) -> Statement:
    return Statement("stability", True, why, f"{promise} with some C(t, R_0)", "spec 1.3")


def _existence(case: Case) -> Statement:
    time = existence_time(case.pde, case.radius) if math.isfinite(case.radius) else 0.0
    return Statement(
        "bounded attention",
        False,
        f"'{case.members[0].name}' attention grows with the tokens",
        f"no blow-up before t = {time:.10g}, and possibly one after",
        "spec 1.3",
        no_end_before(time) if time > 0 else None,
    )


def _mass(case: Case) -> float | None:
    """The mass at the first position of a cloud (the first token, where it has none)."""
    if case.pde.mask is None or case.cloud is None:
        return None
    weights = case.cloud.weights
    return float(weights[_first(case.cloud.positions, weights)].sum())


def _first(positions: Tensor | None, weights: Tensor) -> Tensor:
    if positions is None:
        return torch.arange(len(weights), device=weights.device) == 0
    return positions == positions[weights > 0].min()


def _atom(case: Case) -> Statement:
    mass = _mass(case) or 0.0
    return Statement(
        "atom at the first position",
        mass > 0,
        f"the first position has mass {mass:.6g}",
        f"stability in d_1 with L_mu times {1 / mass:.4g}, which degenerates as the mass goes to "
        "0; in d_p, p > 1, L_mu times p/(p - 1) for any law of positions",
        "spec 1.4",
    )
