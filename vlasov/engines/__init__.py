"""How the sums over a cloud are evaluated: one engine per way."""

__all__ = [
    "ENGINES",
    "Auto",
    "Dense",
    "Direct",
    "Engine",
    "Fused",
    "Monomials",
    "PairKernel",
    "RandomBatch",
    "Tiled",
    "Visibility",
]

from vlasov.catalogue import Catalogue
from vlasov.engines.auto import Auto
from vlasov.engines.base import Engine, PairKernel
from vlasov.engines.dense import Dense
from vlasov.engines.direct import Direct
from vlasov.engines.fused import Fused
from vlasov.engines.monomials import Monomials
from vlasov.engines.random_batch import RandomBatch
from vlasov.engines.tiled import Tiled
from vlasov.engines.tree import Tree
from vlasov.engines.visibility import Visibility

ENGINES: Catalogue[Engine] = Catalogue(
    "engine", [Auto, Dense, Direct, Fused, Tiled, Tree, Monomials, RandomBatch]
)
