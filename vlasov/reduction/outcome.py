r"""How the covariance of a run ends: it converges, blows up, diverges, or still moves.

.. math:: \text{converged: } |\Sigma'|_F < \mathrm{speed} \cdot \mathrm{tr}\,\Sigma(0); \qquad
          \text{diverged: } \mathrm{tr}\,\Sigma > 10^6\, \mathrm{tr}\,\Sigma(0)

Growth is a blow-up if the times at which the trace passes 1e4, 1e6 and 1e8 of its start
accumulate, and exponential if they are equally spaced. Eigenvalues that vanish do so as 1/t, so
ranks depend on the threshold, which is part of the result.

Source: spec 5.1, with the numbers relative to the start.
"""

__all__ = ["Outcome", "outcome", "outcome_of"]

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from vlasov._shapes import Covariance
from vlasov.errors import NotFinite
from vlasov.pde import TransformerPDE
from vlasov.reduction.classify import Figures, Rule, classified, passages, sentences
from vlasov.reduction.heads import obstacle
from vlasov.reduction.result import Reduction
from vlasov.reduction.stationary import stationarity

PerSystem = Float[Tensor, "*batch"]


@dataclass(frozen=True, eq=False)
class Outcome:
    """What became of one covariance or of each in a batch, with the numbers behind it.

    Attributes:
        kinds: for each system ``"converged"``, ``"blow-up"``, ``"exponential divergence"``,
            ``"diverged"`` (too early to tell which) or ``"still moving"``.
        cov: the last covariance: the limit where the system converged.
        spectrum: its eigenvalues over their sum, the largest first; 0 for a zero covariance.
        figures: its speed, growth, rank and passages.
        residual: its distance from a stationary one (see `stationarity`), where it is known.
        rule: the thresholds.
        messages: a sentence for each system.
    """

    kinds: tuple[str, ...]
    cov: Covariance
    spectrum: Float[Tensor, "*batch d"]
    figures: Figures
    residual: PerSystem | None
    rule: Rule
    messages: tuple[str, ...]

    @property
    def rank(self) -> Int[Tensor, "*batch"]:
        """The number of eigenvalues above the thresholds of `rule`."""
        return self.figures.rank


def outcome(  # noqa: PLR0913 - frames, what is known of the end, and the rule
    times: Float[Tensor, " f"],
    cov: Float[Tensor, "f *batch d d"],
    *,
    speed: PerSystem,
    last: Covariance | None = None,
    statuses: Sequence[str] = (),
    residual: PerSystem | None = None,
    rule: Rule | None = None,
) -> Outcome:
    """Classify recorded covariances.

    Args:
        times: times of the frames.
        cov: covariances; NaN after the end of a system.
        speed: ``|Sigma'|_F`` of the last covariance.
        last: the covariance at the end of each system; by default that of its last finite frame.
        statuses: how each system ended, where the integration knows: ``"blow-up"`` and
            ``"exponential"`` are taken over. Otherwise frames have to show it.
        residual: what `stationarity` says of the last covariance.
        rule: thresholds; by default those of `Rule`.

    Raises:
        NotFinite: for a system without a finite frame.

    Example:
        >>> t = torch.linspace(0.0, 1e4, 101).double()
        >>> end = outcome(
        ...     t, (1 / (1 + 2 * t)).reshape(-1, 1, 1), speed=torch.tensor(5e-9).double()
        ... )
        >>> end.kinds, end.rank.item()
        (('converged',), 0)
    """
    rule = Rule() if rule is None else rule
    last = _last_finite(cov) if last is None else last
    eigenvalues = torch.linalg.eigvalsh(last).flip(-1).clamp(min=0.0)
    trace, start = eigenvalues.sum(-1), _trace(cov[0])
    unit = torch.where(start > 0, start, 1.0)
    smallest = torch.maximum(rule.share * trace, rule.floor * start).unsqueeze(-1)
    figures = Figures(
        speed=speed / unit,
        growth=trace / unit,
        rank=(eigenvalues > smallest).sum(-1),
        passages=passages(times, _trace(cov) / unit, rule.levels),
    )
    kinds = classified(figures, rule, statuses)
    return Outcome(
        kinds,
        last,
        eigenvalues / torch.where(trace > 0, trace, 1.0).unsqueeze(-1),
        figures,
        residual,
        rule,
        sentences(kinds, figures, rule, statuses),
    )


def outcome_of(
    pde: TransformerPDE,
    reduction: Reduction,
    *,
    positions: str | None = None,
    rule: Rule | None = None,
) -> Outcome:
    """Classify a reduction by `outcome`, with speed and residual of its last laws.

    Args:
        pde: the equation that was reduced.
        reduction: what `vlasov.reduce` gave.
        positions: as it was passed to `vlasov.reduce`.
        rule: thresholds; by default those of `Rule`.
    """
    law = reduction.final
    field = pde.gaussian_field(law, positions=positions)
    end = torch.tensor(reduction.member_stopped_at).to(law.mean).reshape(law.batch_shape)
    matrix = field(end, field.initial(0.0))[..., : law.d]
    half = matrix @ law.cov
    velocity = half + half.mT
    if field.diffusion is not None:
        velocity = velocity + 2 * field.diffusion * torch.eye(law.d).to(velocity)
    bare = obstacle(pde, masked=True) is None
    return outcome(
        reduction.times,
        reduction.cov,
        speed=torch.linalg.matrix_norm(velocity),
        last=law.cov,
        statuses=reduction.member_status,
        residual=stationarity(pde.replace(mask=None), law) if bare else None,
        rule=rule,
    )


def _last_finite(cov: Tensor) -> Tensor:
    """The last finite covariance of each system."""
    finite = cov.isfinite().all(-1).all(-1)
    missing = int((~finite.any(0)).sum())
    if missing:
        raise NotFinite(
            f"Each system needs a finite covariance but {missing} have none; leave them out."
        )
    count = torch.arange(len(cov), device=cov.device).reshape(-1, *[1] * (finite.dim() - 1))
    index = torch.where(finite, count, -1).amax(0)
    return cov.gather(0, index[None, ..., None, None].expand(1, *cov.shape[1:]))[0]


def _trace(cov: Tensor) -> Tensor:
    return cov.diagonal(dim1=-2, dim2=-1).sum(-1)
