"""What the theory says of a simulation."""

__all__ = ["cloud_notes"]

from vlasov.cloud import Cloud
from vlasov.errors import VlasovError
from vlasov.experiments.statement_notes import statement_notes
from vlasov.pde import TransformerPDE
from vlasov.run import Run

_CHECKED = 500  # tokens: an energy at every frame costs as much as a step
_SLACK = 1e-2  # of a promise: more than the error of a sensible time step


def cloud_notes(pde: TransformerPDE, cloud: Cloud, run: Run, *, until: float) -> tuple[str, ...]:
    """The statements that apply; their promises are checked where that costs little.

    A statement that cannot be evaluated must not cost the user the run: the reason takes its
    place.
    """
    if cloud.batch_shape:
        return ()
    cheap = cloud.n <= _CHECKED and pde.attention.name != "sinkhorn"
    try:
        return statement_notes(pde, cloud, run, until=until, slack=_SLACK, checked=cheap)
    except VlasovError as error:
        return (f"No statement of the theory could be evaluated: {error}",)
