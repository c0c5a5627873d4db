"""What the theory says of a simulation."""

__all__ = ["cloud_notes"]

from vlasov.cloud import Cloud
from vlasov.experiments.statement_notes import statement_notes
from vlasov.pde import TransformerPDE
from vlasov.run import Run

_CHECKED = 3e7  # pairs of tokens over all frames: each frame may cost an energy
_SLACK = 1e-2  # of a promise: more than the error of a sensible time step


def cloud_notes(pde: TransformerPDE, cloud: Cloud, run: Run, *, until: float) -> tuple[str, ...]:
    """The statements that apply; their promises are checked where that costs little.

    None for an interrupted run, which has to end at once, nor for a batch.
    """
    if cloud.batch_shape or run.status == "interrupted":
        return ()
    cheap = cloud.n**2 * len(run.times) <= _CHECKED and pde.attention.name != "sinkhorn"
    return statement_notes(pde, cloud, run, until=until, slack=_SLACK, checked=cheap)
