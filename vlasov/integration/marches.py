"""Which way of stepping a plan asks for, and which combinations are refused."""

__all__ = ["march"]

from vlasov.errors import InvalidValue, Unsupported
from vlasov.integration.adaptive import AdaptiveMarch, no_estimate
from vlasov.integration.control import Controller
from vlasov.integration.fixed import FixedMarch, NoisyMarch
from vlasov.integration.implicit import StiffMarch
from vlasov.integration.march import Course, March
from vlasov.integration.method import OneStep, Stochastic
from vlasov.integration.noise import Noise
from vlasov.integration.stepping import AdaptiveStep, FixedStep
from vlasov.integration.stiff import Stiff


def march(course: Course) -> March:
    """The march for the method and step of a course.

    Raises:
        Unsupported: for a combination that has no meaning; the message names one that has.
        InvalidValue: for noise without a generator.
    """
    method, step = course.plan.method, course.plan.step
    if course.problem.noise is not None:
        return _noisy(course, course.problem.noise)
    if isinstance(method, Stiff):
        return _stiff(course, method)
    if not isinstance(method, OneStep):
        raise Unsupported(
            f"The integrator '{method.name}' is no one-step method. Derive it from OneStep, "
            f"or use 'rk4'."
        )
    return (
        FixedMarch(course, method, step.dt)
        if isinstance(step, FixedStep)
        else _adaptive(course, method, step)
    )


def _adaptive(course: Course, method: OneStep, step: AdaptiveStep) -> AdaptiveMarch:
    if method.error_order is None:
        raise no_estimate(method)
    if course.plan.save_every is not None and course.problem.members > 1:
        raise Unsupported(
            "save_every counts steps, but the systems of an adaptive batch take their own. "
            "Give save_at."
        )
    return AdaptiveMarch(
        course,
        method,
        Controller(step, method.error_order, course.problem.system_ndim, course.problem.magnitude),
    )


def _noisy(course: Course, noise: Noise) -> NoisyMarch:
    method, step = course.plan.method, course.plan.step
    if not isinstance(method, Stochastic):
        raise Unsupported(
            f"Noise needs a method made for it but the integrator is '{method.name}'. "
            f"Use 'euler' (Euler-Maruyama) or 'heun' (stochastic Heun)."
        )
    if not isinstance(step, FixedStep):
        raise Unsupported(
            "Noise needs fixed steps but adaptive ones were asked for. Give a step size."
        )
    if course.generator is None:
        raise InvalidValue(
            "A run with noise needs a random generator but got none. "
            "Pass `generator=torch.Generator().manual_seed(seed)`."
        )
    return NoisyMarch(course, method, step.dt, noise=noise, generator=course.generator)


def _stiff(course: Course, method: Stiff) -> StiffMarch:
    step = course.plan.step
    if not isinstance(step, AdaptiveStep):
        raise Unsupported(
            "The integrator 'stiff' chooses its own steps but a fixed step was asked for. "
            "Use step='adaptive', or 'rk4' with a fixed step."
        )
    return StiffMarch(course, method, step)
