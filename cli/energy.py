"""`vlasov energy`."""

__all__ = ["command"]

from vlasov.experiments.energy_run import ENERGY

from .experiment import experiment_command

command = experiment_command(
    ENERGY,
    "Follow the energy that an equation descends, and test its convexity.\n\n"
    "The slope of F along the flow is compared with its rate D: dF/dt = -D. An equation without "
    "an energy is refused with the condition that fails; --probe watches all the same. "
    "--convexity looks for contradictions to convexity.",
)
