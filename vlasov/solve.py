"""The verb `simulate`: an equation and a cloud in, a run out."""

__all__ = ["simulate"]

import dataclasses
from collections.abc import Callable, Mapping, Sequence

import torch
from torch import Tensor

from vlasov._recorder import Recorder
from vlasov._setup import Setup, require_controllable, stepping, usual_integrator
from vlasov.cloud import Cloud
from vlasov.engines.engine_report import collecting
from vlasov.integration import AdaptiveStep, Limits, Method, State
from vlasov.merging import Merging
from vlasov.observables import Observable
from vlasov.pde import TransformerPDE
from vlasov.run import Monitor, Run
from vlasov.stopping import Stop, build_stop

_HALF = (torch.float16, torch.bfloat16)


def simulate(  # noqa: PLR0913 - the public door: one keyword per choice of the user
    pde: TransformerPDE,
    cloud: Cloud,
    *,
    until: float,
    start: float = 0.0,
    step: float | str = 0.01,
    integrator: str | Method | None = None,
    rtol: float = 1e-6,
    atol: float = 1e-9,
    error: str = "embedded",
    max_steps: int | None = None,
    wall_time: float | None = None,
    save_at: Sequence[float] | None = None,
    save_every: int | None = None,
    keep: str = "all",
    observe: str | Sequence[str | Observable] | Mapping[str, Callable[[Cloud], Tensor]] = (),
    stop: str | Sequence[str | Stop] = (),
    merge: float | None = None,
    seed: int = 0,
    monitor: Monitor | None = None,
    resume: Mapping[str, object] | None = None,
) -> Run:
    """Move the tokens of a cloud from `start` to `until` (times in layers × step).

    Args:
        pde: the equation.
        cloud: tokens on its geometry; the result follows its dtype and device. Half precision is
            integrated in float32 and rounded once per frame.
        until: end time; before `start` the run goes backwards.
        start: start time.
        step: a fixed step, or ``"adaptive"``; save times never change fixed steps unless
            `save_at` is given.
        integrator: a name such as ``"rk4"`` (default for fixed steps), ``"tsit5"`` (default for
            adaptive ones, ``"heun"`` under noise, ``"euler"`` for engine ``rbm``), ``"stiff"``,
            ``"lie:inner=rk4"``, or a method.
        rtol: relative tolerance of adaptive steps.
        atol: absolute tolerance of adaptive steps.
        error: ``"embedded"`` takes the estimate of the method, where it has one; ``"doubling"``
            compares every step with two half steps, for any one-step method, at three times the
            cost.
        max_steps: ends the run with status ``"max-steps"``.
        wall_time: seconds, ends the run with status ``"wall-time"``.
        save_at: times of the frames; steps land on them.
        save_every: a frame every so many steps.
        keep: ``"all"`` frames, or the ``"last"`` state only (memory does not grow with time).
        observe: observables by name or object, or a mapping from names to functions of a cloud.
        stop: conditions such as ``"collapse:tolerance=1e-3"``; ``"blow-up"`` is watched in any
            case.
        merge: tokens of equal position that come within this distance become one token of their
            joint weight (checked at each frame); frames still show every token.
        seed: seed of the noise.
        monitor: told of every frame and step; may interrupt.
        resume: what a monitor's `checkpoint` received; the run goes on from there bit for bit. Its
            frames start after that checkpoint.

    Raises:
        NotOnGeometry: if the cloud is not on the geometry.
        InvalidValue: for a step, tolerance or time out of range.
        UnknownName: for a name no catalogue holds.
        Unsupported: for a combination refused by name.

    Example:
        >>> run = simulate(TransformerPDE(), Cloud([[1.0], [2.0]]), until=1.0, step=0.1)
        >>> run.status, len(run.times)
        ('finished', 11)
    """
    pde.geometry.check(cloud.points)
    require_controllable(pde, step)
    chosen = integrator or usual_integrator(pde, step)
    method, sized = stepping(step, chosen, error, AdaptiveStep(rtol=rtol, atol=atol))
    setup = Setup(
        pde,
        method,
        sized,
        tuple(build_stop(item) for item in ([stop] if isinstance(stop, str) else stop)),
        Limits(max_steps=max_steps, wall_time=wall_time),
        torch.Generator().manual_seed(seed),
        save_every,
    )
    working = cloud.to(dtype=torch.float32) if cloud.points.dtype in _HALF else cloud
    recorder = Recorder(pde, cloud, observe, keep=keep, monitor=monitor)
    span = (float(start), float(until))
    times = None if save_at is None else tuple(float(t) for t in save_at)
    with torch.set_grad_enabled(pde.requires_grad(cloud)), collecting() as reports:
        if merge is not None:
            outcome = Merging(setup, working, merge, recorder).run(span, times, resume)
        else:
            outcome = setup.integrate(
                working,
                span,
                save_at=times,
                observer=recorder,
                resume=None if resume is None else State.from_dict(resume),
            )
    run = recorder.run(outcome, integrator=method.name, seed=seed)
    return dataclasses.replace(run, engine_report=reports[0]) if reports else run
