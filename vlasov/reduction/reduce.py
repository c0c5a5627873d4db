"""The verb `reduce`: an equation and a Gaussian law in, the flow that carries the law out."""

__all__ = ["reduce"]

from collections.abc import Sequence

import torch
from torch import Tensor

from vlasov._setup import stepping
from vlasov.errors import InvalidValue, NotFinite
from vlasov.gaussian import Gaussian
from vlasov.integration import AdaptiveStep, FixedStep, Limits, Method, Plan
from vlasov.pde import TransformerPDE
from vlasov.pde.gaussian_field import GaussianField
from vlasov.reduction.join import joined
from vlasov.reduction.part import run_part
from vlasov.reduction.result import Reduction
from vlasov.reduction.systems import Systems

_FRAMES_OF_ONE, _FRAMES_OF_MANY = 101, 2


def reduce(  # noqa: PLR0913 - the public door: one keyword per choice of the user
    pde: TransformerPDE,
    gaussian: Gaussian,
    *,
    until: float,
    start: float = 0.0,
    step: float | str = "adaptive",
    integrator: str | Method | None = None,
    rtol: float = 1e-9,
    atol: float = 1e-12,
    save_at: Sequence[float] | None = None,
    frames: int | None = None,
    max_steps: int | None = None,
    positions: str | None = None,
    threshold: float = 1e8,
) -> Reduction:
    """Carry a Gaussian law from `start` to `until` (times in layers × step).

    The affine flow ``[A | b]`` is integrated, never the covariance: it stays positive and keeps
    its rank. Laws and parameters may have batch axes, which broadcast; each system of a batch has
    its own steps and its own end.

    Args:
        pde: an equation that keeps Gaussians Gaussian.
        gaussian: the law at `start`; the result follows its dtype and device.
        until: end time; before `start` the run goes backwards.
        start: start time.
        step: ``"adaptive"``, or a fixed step.
        integrator: a name or a method; ``"dop853"`` for adaptive steps, ``"rk4"`` for fixed ones.
        rtol: relative tolerance of the entries of the flow, at least ten roundings.
        atol: absolute tolerance.
        save_at: times of the frames; steps land on them.
        frames: in place of `save_at`, so many frames at equal distances, both ends included. By
            default 101 of one system, and the two ends of a batch, whose systems meet at each.
        max_steps: ends the run with status ``"max-steps"``.
        positions: ``"independent"`` if the law of a token does not depend on its position: then a
            mask changes nothing.
        threshold: growth of the trace of the covariance at which a system ends, as a blow-up
            whose time is extrapolated to about 1e-7, or as exponential divergence. With fixed
            steps a blow-up is located to a step.

    Raises:
        Unsupported: if the equation does not keep Gaussians Gaussian.
        ShapeMismatch: for parameters and laws that do not fit.
        InvalidValue: for a step, tolerance, threshold or number of frames out of range.
        NotFinite: if the velocity is not finite for the law at `start`.

    Source: spec section 2; flow maps in place of covariances.

    Example:
        >>> run = reduce(TransformerPDE(), Gaussian(0.0, 1.0), until=1.0)
        >>> run.status, round(run.blow_up_time, 6)
        ('blow-up', 0.5)
    """
    # nothing checks types outside the tests
    if not isinstance(gaussian, Gaussian):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidValue(
            f"A reduction starts from a Gaussian but got {type(gaussian).__name__}; build one by "
            "`vl.Gaussian(mean, cov)`, or simulate the cloud."
        )
    if not rtol > 0:
        raise InvalidValue(f"rtol must be above 0 but is {rtol}; try 1e-9.")
    if not 1 < threshold < float("inf"):
        raise InvalidValue(f"threshold is a finite number above 1 but got {threshold}; try 1e8.")
    tolerance = max(rtol, 10 * torch.finfo(gaussian.mean.dtype).eps)
    chosen = integrator or ("dop853" if step == "adaptive" else "rk4")
    method, sized = stepping(step, chosen, "embedded", AdaptiveStep(rtol=tolerance, atol=atol))
    span = (float(start), float(until))
    with torch.set_grad_enabled(pde.requires_grad(gaussian)):
        field = pde.gaussian_field(gaussian, positions=positions)
        batch = tuple(field.initial(start).shape[:-2])
        systems = Systems.of(pde, gaussian, batch, positions)
        field, initial = systems.centred(start)
        rate = _rate(field, initial, start)
        times = _times(sized, span, save_at, frames, bool(batch))
        plan = Plan(method=method, step=sized, save_at=times, limits=Limits(max_steps=max_steps))
        blocks = systems.blocks(rate)
        parts = [
            (
                index,
                run_part(
                    systems if len(blocks) == 1 else systems.take(index), span, plan, threshold
                ),
            )
            for index in blocks
        ]
        whole = Gaussian.of_factor(torch.zeros_like(gaussian.mean), gaussian.factor)
        return joined(pde.gaussian_field(whole, positions=positions), parts, gaussian, batch)


def _rate(field: GaussianField, initial: Tensor, start: float) -> Tensor:
    """How fast each system moves, relative to its size."""
    slope = field(start, initial).detach()
    if not bool(torch.isfinite(slope).all(-1).all(-1).any()):
        raise NotFinite(
            "What a token sees of the law at the start is not finite. Under L2 attention with "
            "beta < 0 the integral diverges for wide laws: lower |beta| or the covariance."
        )
    return slope.square().sum((-2, -1)) / initial.detach().square().sum((-2, -1))


def _times(
    sized: AdaptiveStep | FixedStep,
    span: tuple[float, float],
    save_at: Sequence[float] | None,
    frames: int | None,
    many: bool,
) -> tuple[float, ...] | None:
    """The times of the frames; None where fixed steps save states of their own grid."""
    if save_at is not None and frames is not None:
        raise InvalidValue("save_at and frames are both given. Choose one of them.")
    if save_at is not None:
        return tuple(float(t) for t in save_at)
    if frames is None:
        if isinstance(sized, FixedStep):
            return None
        frames = _FRAMES_OF_MANY if many else _FRAMES_OF_ONE
    if frames < 2:
        raise InvalidValue(f"A run has its two ends as frames but got frames={frames}; give 2.")
    start, until = span
    inner = (start + (until - start) * (k / (frames - 1)) for k in range(1, frames - 1))
    return (*inner, until)
