"""`vlasov converge`."""

__all__ = ["command"]

from vlasov.experiments.converge import CONVERGE

from .experiment import experiment_command

command = experiment_command(
    CONVERGE,
    "Measure how fast n tokens approach the mean-field limit. Says whether the expected "
    "rates hold. Beta is 1 unless given.",
)
