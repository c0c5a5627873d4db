"""Statements about blow-up and closed forms of the covariance, for one softmax or linear head.

Linear attention does to the second moment of any law what softmax does to Gaussian covariances.
"""

__all__ = ["covariance_statements"]

import math

import torch
from torch import Tensor

from vlasov.attention import Linear, Softmax
from vlasov.gaussian import Gaussian
from vlasov.reduction.closed_forms import softmax_blow_up_time, softmax_limit
from vlasov.reduction.commutation import commutators
from vlasov.reduction.exact import exact
from vlasov.theory.case import Case
from vlasov.theory.claims import equal, no_end_before, only_gaussian
from vlasov.theory.history import History
from vlasov.theory.statement import Claim, Statement, Verdict

_COUNTER = (
    "nothing by itself: for V = [[-1, -1], [1, 0]], A = [[-1, -1], [2, -1]] and Sigma_0 = I it "
    "holds, and yet the covariance blows up at t = 1.374304"
)


def covariance_statements(case: Case) -> tuple[Statement, ...]:
    """What norms, signs and commutation say; none for other equations."""
    if not case.one(Softmax, Linear):
        return ()
    moments = _moments(case)
    return (
        _bound(case, moments),
        _definite(case),
        _commuting(case, moments),
        *_identity(case, moments),
    )


def _moments(case: Case) -> Gaussian:
    """The centred law that obeys the covariance equation."""
    if not case.one(Linear):
        return case.centred
    both = torch.cat([case.law.factor, case.law.mean.unsqueeze(-1)], -1)
    return Gaussian.of_factor(torch.zeros_like(case.law.mean), both)


def _observed(case: Case, history: History) -> Tensor:
    """What obeys the equation along a run."""
    return history.second_moment if case.one(Linear) else history.cov


def _promised(case: Case, claim: Claim) -> Claim:
    """The claim, which linear attention keeps for clouds too."""
    return claim if case.one(Linear) else only_gaussian(claim)


def _bound(case: Case, moments: Gaussian) -> Statement:
    value, score = (float(torch.linalg.matrix_norm(m, ord=2)) for m in case.matrices())
    top = float(torch.linalg.eigvalsh(moments.cov)[-1])
    strength = 2 * value * score * top
    time = 1 / strength if strength > 0 else math.inf
    return Statement(
        "norms of the maps",
        True,
        f"2 |V| |A| lambda_max = {strength:.6g}",
        f"no blow-up before t = {time:.10g}",
        "spec 2.2",
        _promised(case, no_end_before(time)),
    )


def _definite(case: Case) -> Statement:
    value, score = case.matrices()
    product = value @ score
    eigenvalues = torch.linalg.eigvalsh(product + product.mT)
    return Statement(
        "S = VA + A^T V^T <= 0",
        bool(eigenvalues[-1] <= case.rounding * eigenvalues.abs().max()),
        f"eigenvalues of S from {float(eigenvalues[0]):.4g} to {float(eigenvalues[-1]):.4g}",
        _COUNTER,
        "spec 2.3",
    )


def _commuting(case: Case, moments: Gaussian) -> Statement:
    value, score = case.matrices()
    shares = {k: float(s) for k, s in commutators(value, score, moments.cov).items()}
    holds = all(share <= case.rounding for share in shares.values())
    product = value @ score
    time = float(softmax_blow_up_time(moments.factor, product + product.mT))
    ends = f"it blows up at t = {time:.10g}" if math.isfinite(time) else "it never blows up"
    return Statement(
        "V symmetric and commuting with Sigma_0 and S",
        holds,
        ", ".join(f"|{name}| is {share:.3g}" for name, share in shares.items()) + ", relative",
        "Sigma(t) = L_0 (I - t L_0^T S L_0)^{-1} L_0^T" + (f", and {ends}" if holds else ""),
        "spec 2.2",
        _promised(case, _closed_form_claim(case, moments, time)) if holds else None,
    )


def _closed_form_claim(case: Case, moments: Gaussian, time: float) -> Claim:
    def claim(history: History, slack: float) -> Verdict:
        if history.end is not None:
            miss = abs(history.end - time)
            word = "agreed" if miss <= slack * time + history.resolution < math.inf else "violated"
            return Verdict(word, f"blow-up at t = {history.end:.10g}, expected at {time:.10g}")
        times = (history.times - history.times[0]).to(moments.mean)
        if float(times[-1]) >= time:
            return Verdict("violated", f"no blow-up met up to t = {float(history.times[-1]):.6g}")
        softmax = case.pde.replace(attention="softmax")
        expected = exact(softmax, moments, times).cov
        return equal(_observed(case, history), expected, what="the covariance", slack=slack)

    return claim


def _identity(case: Case, moments: Gaussian) -> list[Statement]:
    """Limit or blow-up for V = vI."""
    value, score = case.matrices()
    v = float(value.diagonal().mean())
    eye = torch.eye(len(value), dtype=value.dtype, device=value.device)
    size = float(torch.linalg.matrix_norm(value))
    share = float(torch.linalg.matrix_norm(value - v * eye)) / size if size > 0 else 0.0
    rate = v * (score + score.mT)
    eigenvalues = torch.linalg.eigvalsh(rate)
    grows = bool(eigenvalues[-1] > case.rounding * eigenvalues.abs().max())
    scalar = share <= case.rounding
    found = (
        f"V is {v:.4g} I up to {share:.3g} of |V|, eigenvalues of v(A + A^T) from "
        f"{float(eigenvalues[0]):.4g} to {float(eigenvalues[-1]):.4g}"
    )
    time = float(softmax_blow_up_time(moments.factor, rate))
    falls = scalar and not grows
    limit = softmax_limit(moments.factor, rate) if falls else None
    rank = "" if limit is None else f", which has rank {int(torch.linalg.matrix_rank(limit))}"
    claim = _promised(case, _closed_form_claim(case, moments, time))
    late = f"here at t = {time:.10g}" if math.isfinite(time) else "not this singular one"
    late = late if scalar and grows else "at 1 / lambda_max(Sigma_0 v(A + A^T))"
    return [
        Statement(
            "V = vI and v(A + A^T) <= 0",
            falls,
            found,
            "Sigma(t) tends to E (E^T Sigma_0^{-1} E)^{-1} E^T with E a basis of ker(A + A^T)"
            f"{rank}, at the rate 1/t",
            "spec 2.3",
            claim if falls else None,
        ),
        Statement(
            "V = vI and v(A + A^T) has a positive eigenvalue",
            scalar and grows,
            found,
            f"a law of full rank blows up {late}, along the top eigenvector",
            "spec 2.2",
            claim if scalar and grows else None,
        ),
    ]
