"""`vlasov reduce`."""

__all__ = ["command"]

from vlasov.experiments.reduce_run import REDUCE

from .experiment import experiment_command

command = experiment_command(
    REDUCE,
    "Carry a Gaussian law by the equation: mean, covariance, and how the run ends.\n\n"
    "Without options: softmax attention that blows up along a line. Converged, blow-up (with its "
    "time), exponential divergence or still moving; limit, rank, spectrum; the statements of the "
    "theory, checked against the run. An equation that does not keep Gaussians Gaussian is "
    "refused by name.",
)
