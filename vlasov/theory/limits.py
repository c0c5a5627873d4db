"""Statements about limits of Gaussian covariances: Lyapunov function, rank, conserved gap."""

__all__ = ["limit_statements"]

import torch
from torch import Tensor

from vlasov.attention import L2, Sinkhorn, Softmax
from vlasov.gaussian import Gaussian
from vlasov.reduction.classify import Rule
from vlasov.reduction.commutation import skew_share
from vlasov.reduction.outcome import outcome
from vlasov.reduction.stationary import covariance_velocity
from vlasov.theory.case import Case
from vlasov.theory.claims import equal, falling, only_gaussian
from vlasov.theory.history import History
from vlasov.theory.statement import Claim, Statement, Verdict


def limit_statements(case: Case) -> tuple[Statement, ...]:
    """What is known of limits under one head of softmax, L2 or Sinkhorn attention."""
    if not case.one(Softmax, L2, Sinkhorn):
        return ()
    found = [_lyapunov(case)]
    if not case.one(L2):
        found.append(_rank(case))
    if case.one(Softmax) and case.law.d == 2:
        found.append(_rotation(case))
    return tuple(found)


def _lyapunov(case: Case) -> Statement:
    value, score = case.matrices()
    values, scores = _eigenvalues(value), _eigenvalues(score)
    shares = [float(skew_share(m)) for m in (value, score)]
    floor = case.rounding * scores.abs().max()
    holds = max(shares) <= case.rounding and bool((values[0] > 0) & (scores[-1] <= floor))
    found = (
        f"V is skew by {shares[0]:.3g} with lowest eigenvalue {float(values[0]):.4g}, A is skew "
        f"by {shares[1]:.3g} with largest eigenvalue {float(scores[-1]):.4g}"
    )
    if case.one(L2):
        miss = _distance_from_multiple(score, case)
        holds = holds and miss <= case.rounding
        found += f", A is a multiple of K^T K up to {miss:.3g}"
    rank = int((scores < -floor).sum())

    def claim(history: History, slack: float) -> Verdict:
        inverse = torch.linalg.inv(value).to(history.cov)
        traces = (inverse @ history.cov).diagonal(dim1=-2, dim2=-1).sum(-1)
        return falling(traces, what="tr(V^{-1} Sigma)", slack=slack)

    return Statement(
        "V = V^T > 0 and A = A^T <= 0",
        holds,
        found,
        f"tr(V^{{-1}} Sigma) falls and Sigma converges to a limit with A Sigma = 0, of rank at "
        f"most d - rank A = {case.law.d - rank}",
        "spec 2.3, 2.4, 2.5",
        only_gaussian(claim) if holds else None,
    )


def _distance_from_multiple(score: Tensor, case: Case) -> float:
    """The share of A that is no multiple of N."""
    squares = score if case.heads is None else case.heads.squares[0]
    size = squares.square().sum()
    c = (score * squares).sum() / torch.where(size > 0, size, 1.0)
    left, whole = (float(torch.linalg.matrix_norm(m)) for m in (score - c * squares, score))
    return left / whole if whole > 0 else 0.0


def _rank(case: Case) -> Statement:
    value, score = case.matrices()
    d, v = case.law.d, value.diagonal().mean()
    eye = torch.eye(d, dtype=value.dtype, device=value.device)
    size = torch.linalg.matrix_norm(value)
    scalar = bool(torch.linalg.matrix_norm(value - v * eye) <= case.rounding * size) and bool(
        v != 0
    )
    definite = bool(_eigenvalues(value)[0] > 0)
    symmetric = max(float(skew_share(m)) for m in (value, score)) <= case.rounding
    eigenvalues = _eigenvalues(score)
    floor = case.rounding * eigenvalues.abs().max()
    above, below = int((eigenvalues > floor).sum()), int((eigenvalues < -floor).sum())
    most, holds = d - max(above, below), scalar or (symmetric and definite)
    return Statement(
        "V = vI, or V = V^T > 0 and A = A^T",
        holds,
        f"A + A^T has {above} positive and {below} negative eigenvalues of {d}",
        f"a covariance at rest has rank at most d - max(p, q) = {most}",
        "spec 2.3",
        only_gaussian(_rank_claim(case, most)) if holds else None,
    )


def _rank_claim(case: Case, most: int) -> Claim:
    def claim(history: History, slack: float) -> Verdict:
        law = Gaussian(torch.zeros_like(history.mean[-1]), history.cov[-1])
        speed = torch.linalg.matrix_norm(covariance_velocity(case.pde, law))
        end = outcome(history.times, history.cov, speed=speed, statuses=(history.status,))
        if end.kinds != ("converged",):
            return Verdict("not checkable", f"the covariance is not at rest: {end.kinds[0]}")
        rank = int(end.rank)
        word = "agreed" if rank <= most else "violated"
        share = Rule().share
        return Verdict(word, f"rank {rank} (eigenvalues above {share:g} of the trace) <= {most}")

    return claim


def _rotation(case: Case) -> Statement:
    value, score = case.matrices()
    turn = torch.tensor([[0.0, -1.0], [1.0, 0.0]], dtype=value.dtype, device=value.device)
    misses: list[float] = []
    for matrix in (value, score):
        size = float(torch.linalg.matrix_norm(matrix))
        rest = float(torch.linalg.matrix_norm(matrix - (matrix * turn).sum() / 2 * turn))
        misses.append(rest / size if size > 0 else 0.0)
    holds = max(misses) <= case.rounding

    def claim(history: History, slack: float) -> Verdict:
        gaps = torch.linalg.eigvalsh(history.cov).diff(dim=-1)[..., 0]
        return equal(gaps, gaps[0].expand_as(gaps), what="the gap", slack=slack)

    return Statement(
        "V and A are multiples of the rotation by a right angle",
        holds,
        f"up to {misses[0]:.3g} of V and {misses[1]:.3g} of A",
        "the gap of the two eigenvalues of Sigma is conserved",
        "spec 2.3",
        only_gaussian(claim) if holds else None,
    )


def _eigenvalues(matrix: Tensor) -> Tensor:
    """Those of the symmetric part."""
    return torch.linalg.eigvalsh((matrix + matrix.mT) / 2)
