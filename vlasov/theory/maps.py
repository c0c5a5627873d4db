"""Statements about the maps: symmetric scores, gradient flow, injective keys, Sinkhorn."""

__all__ = ["map_statements"]

import math

import torch
from torch import Tensor

from vlasov.attention import L2, Sinkhorn
from vlasov.energies import Energy
from vlasov.energies.gradient_flow import gradient_flow
from vlasov.errors import Unsupported
from vlasov.reduction.commutation import skew_share
from vlasov.reduction.heads import Heads
from vlasov.theory.case import Case
from vlasov.theory.claims import below, equal, falling, only_gaussian
from vlasov.theory.history import History
from vlasov.theory.statement import Claim, Statement, Verdict

_PAIRS = 10**9  # pairs of tokens, over all frames, up to which the energy is evaluated again


def map_statements(case: Case) -> tuple[Statement, ...]:
    """What symmetry, the gradient structure and injective keys give."""
    heads, found = case.heads, [_gradient(case)]
    if heads is None:
        return tuple(found)
    found.append(_symmetric(heads, case.rounding))
    if case.only(L2) and case.pde.beta > 0 and case.pde.mask is None:
        found.append(_injective(heads))
    if case.only(Sinkhorn) and case.pde.mask is None:
        found += [_mean(heads), _second_moment(heads)]
    return tuple(found)


def _symmetric(heads: Heads, rounding: float) -> Statement:
    shares = [float(skew_share(a)) for a in heads.score]
    return Statement(
        "A symmetric",
        max(shares) <= rounding,
        "|A - A^T| / |A| is " + ", ".join(f"{share:.3g}" for share in shares),
        "with V = sigma B A, an energy that falls",
        "spec 3",
    )


def _gradient(case: Case) -> Statement:
    tokens = case.law if case.cloud is None else case.cloud
    try:
        structure = gradient_flow(case.pde, tokens).structure
    except Unsupported as refusal:
        return _statement_of_energy(False, str(refusal), case)
    signs = ", ".join(f"{sign:+.0f}" for sign in structure.signs.tolist())
    return _statement_of_energy(True, f"sigma = {signs}, B positive definite", case)


def _statement_of_energy(holds: bool, found: str, case: Case) -> Statement:
    return Statement(
        "V = sigma B A",
        holds,
        found,
        "dF/dt = -D: the energy falls",
        "spec 3",
        _energy_claim(case) if holds else None,
    )


def _energy_claim(case: Case) -> Claim:
    def claim(history: History, slack: float) -> Verdict:
        cloud = history.cloud
        if cloud is None:
            return Verdict("not checkable", "the energy is evaluated on clouds")
        if len(history.times) * cloud.n**2 > _PAIRS:
            return Verdict("not checkable", f"{cloud.n} tokens: observe 'energy' along the run")
        return falling(Energy(case.pde)(cloud), what="the energy", slack=slack)

    return claim


def _injective(heads: Heads) -> Statement:
    rank = torch.linalg.matrix_rank(heads.key)
    smallest = torch.linalg.svdvals(heads.key)[..., -1]
    holds = bool((rank == heads.key.shape[-1]).all())
    sizes = [torch.linalg.matrix_norm(m, ord=2) for m in (heads.value, heads.query)]
    rate = float((2 * sizes[0] * sizes[1] / smallest).sum()) if holds else math.inf

    def claim(history: History, slack: float) -> Verdict:
        if history.end is not None:
            return Verdict("violated", f"blow-up at t = {history.end:.10g}")
        tops = torch.linalg.eigvalsh(history.cov)[..., -1]
        bounds = tops[0] * torch.exp(rate * (history.times - history.times[0])).to(tops)
        return below(tops, bounds, what="the largest eigenvalue", slack=slack)

    listed = ", ".join(f"{float(one):.4g}" for one in smallest)
    return Statement(
        "K injective",
        holds,
        f"ranks of K {rank.tolist()} of {heads.key.shape[-1]}, smallest singular values {listed}",
        f"L2 attention never blows up: lambda_max(Sigma(t)) <= lambda_max(Sigma(0)) "
        f"e^({rate:.4g} t)"
        if holds
        else "without it L2 attention can blow up in finite time",
        "spec 2.4",
        only_gaussian(claim) if holds else None,
    )


def _mean(heads: Heads) -> Statement:
    drift = _over_eps(heads, heads.value)

    def claim(history: History, slack: float) -> Verdict:
        times = (history.times - history.times[0]).to(drift)
        expected = torch.linalg.matrix_exp(times[:, None, None] * drift) @ history.mean[0].to(
            drift
        )
        return equal(history.mean, expected, what="the mean", slack=slack)

    return Statement(
        "Sinkhorn: columns sum to one",
        True,
        "every token is seen as much as it sees",
        "the mean is e^(tV/eps) times its start, for any law",
        "spec 1.2, 2.5",
        claim,
    )


def _second_moment(heads: Heads) -> Statement:
    rate = float(_over_eps(heads, 2 * torch.linalg.matrix_norm(heads.value, ord=2)))

    def claim(history: History, slack: float) -> Verdict:
        if history.end is not None:
            return Verdict("violated", f"blow-up at t = {history.end:.10g}")
        traces = history.second_moment.diagonal(dim1=-2, dim2=-1).sum(-1)
        bounds = traces[0] * torch.exp(rate * (history.times - history.times[0])).to(traces)
        return below(traces, bounds, what="the second moment", slack=slack)

    return Statement(
        "Sinkhorn: conditional means contract",
        True,
        f"2|V|/eps summed over the heads is {rate:.6g}",
        f"never a blow-up: tr M(t) <= tr M(0) e^({rate:.4g} t) for the second moment M",
        "spec 2.5",
        claim,
    )


def _over_eps(heads: Heads, parts: Tensor) -> Tensor:
    """The sum over Sinkhorn heads of one tensor each, divided by their eps."""
    eps = [member.eps if isinstance(member, Sinkhorn) else 1.0 for member in heads.members]
    return torch.stack([part / e for part, e in zip(parts, eps, strict=True)]).sum(0)
