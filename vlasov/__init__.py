"""Mean-field dynamics of Transformers: tokens are particles, attention moves them.

As the number of tokens grows their law follows a Vlasov equation, the Transformer PDE.
"""

from vlasov.attention import ATTENTIONS
from vlasov.cloud import Cloud
from vlasov.energies import dissipation, energy
from vlasov.engines import ENGINES
from vlasov.errors import VlasovError
from vlasov.experiments.load import load_run
from vlasov.gaussian import Gaussian
from vlasov.geometry import GEOMETRIES
from vlasov.pde import TransformerPDE, attention_matrix, dedrifted, velocity
from vlasov.projections import LayeredProjections, Projections, RedrawnProjections
from vlasov.reduction import Reduction, reduce
from vlasov.run import Run
from vlasov.solve import simulate
from vlasov.transport import wasserstein

__version__ = "0.1.0"

__all__ = [
    "ATTENTIONS",
    "ENGINES",
    "GEOMETRIES",
    "Cloud",
    "Gaussian",
    "LayeredProjections",
    "Projections",
    "RedrawnProjections",
    "Reduction",
    "Run",
    "TransformerPDE",
    "VlasovError",
    "__version__",
    "attention_matrix",
    "dedrifted",
    "dissipation",
    "energy",
    "load_run",
    "reduce",
    "simulate",
    "velocity",
    "wasserstein",
]
