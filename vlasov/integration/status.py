"""The ways in which a run ends, each with the sentence its user reads."""

__all__ = ["STATUSES", "describe"]

from collections.abc import Mapping

STATUSES: Mapping[str, str] = {
    "finished": "Reached the end time {until:.6g}.",
    "max-steps": (
        "Stopped at t = {t:.6g} after {steps} steps, before the end time {until:.6g}. "
        "Raise max_steps, take larger steps, or loosen rtol."
    ),
    "wall-time": (
        "Stopped at t = {t:.6g} by the wall-time limit, before the end time {until:.6g}. "
        "Resume the run, raise the limit, or take larger steps."
    ),
    "interrupted": "Interrupted at t = {t:.6g}, before the end time {until:.6g}. Resume to go on.",
    "blow-up": (
        "The state grew without bound at t = {t:.10g}. "
        "The solution may not exist beyond; shorten the run, or scale V or beta down."
    ),
    "non-finite": (
        "The field or the state became NaN or infinite at t = {t:.10g} without growing before. "
        "Check where the field is defined; a smaller step helps if a stage left its domain."
    ),
    "step-too-small": (
        "The adaptive step shrank to round-off at t = {t:.10g}. "
        "Loosen rtol and atol, or use the integrator 'stiff'."
    ),
    "collapse": "All points of the system came together at t = {t:.10g}.",
    "steady": "The system stopped moving at t = {t:.10g}.",
}
"""Status -> sentence. The name of any other terminal event is a status too."""

_EVENT = "The event '{name}' stopped the run at t = {t:.10g}."


def describe(name: str, *, t: float, until: float, steps: int) -> str:
    """The sentence for a status.

    Example:
        >>> describe("finished", t=1.0, until=1.0, steps=10)
        'Reached the end time 1.'
    """
    return STATUSES.get(name, _EVENT).format(name=name, t=t, until=until, steps=steps)
