"""`vlasov ablate`."""

__all__ = ["command"]

from vlasov.experiments.ablate_run import ABLATE

from .experiment import experiment_command

command = experiment_command(
    ABLATE,
    "Show what residual connections and norms do, layer by layer.\n\n"
    "A grid of norm schemes, residual connections, depths and seeds, at initialisation: token "
    "norm, cosines, ranks, distances and gradients of every layer, a verdict for each network, "
    "and the same weights as a continuous system without stabilisers. With --task the networks "
    "are trained instead: losses, gradients and the stable range of learning rates.",
)
