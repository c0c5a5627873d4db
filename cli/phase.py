"""`vlasov phase`."""

__all__ = ["command"]

from vlasov.experiments.phase_run import PHASE

from .experiment import experiment_command

command = experiment_command(
    PHASE,
    "Colour a diagram of parameters, or of random draws, by how covariances end.\n\n"
    "Converged (with its rank), blow-up (with its time), exponential divergence or still moving, "
    "for each cell of a grid over one or two parameters, each draw from their ranges, or each "
    "draw of random maps. Laws are reduced, thousands at once; a variant that does not keep "
    "Gaussians Gaussian is followed as small clouds.",
)
