"""`vlasov diffuse`."""

__all__ = ["command"]

from vlasov.experiments.diffuse_run import DIFFUSE

from .experiment import experiment_command

command = experiment_command(
    DIFFUSE,
    "Take one diffusion step along positions apart: spectrum, stability, response, energy, "
    "kernel.\n\n"
    "Beside each stands what the paper of the layer says (arXiv:2510.03272), and whether it "
    "holds. Frequencies are in radians per token; bands are the quarters from 0 to pi.",
)
