"""Writes the page of named choices from the catalogues, so that no table is kept by hand."""

__all__ = ["page"]

from collections.abc import Iterable

from vlasov.attention import ATTENTIONS
from vlasov.attention.masks import MASKS
from vlasov.catalogue import Catalogue
from vlasov.engines import ENGINES
from vlasov.geometry import GEOMETRIES
from vlasov.integration import INTEGRATORS
from vlasov.lra import TASKS
from vlasov.observables import OBSERVABLES
from vlasov.pde.noise import NOISES
from vlasov.pde.terms import TERMS
from vlasov.stopping import STOPS
from vlasov.transformer import NORMS

CATALOGUES = (
    ATTENTIONS,
    MASKS,
    GEOMETRIES,
    TERMS,
    NOISES,
    ENGINES,
    INTEGRATORS,
    OBSERVABLES,
    STOPS,
    NORMS,
    TASKS,
)


def heading(text: str, mark: str) -> list[str]:
    """A title in reStructuredText."""
    return [text, mark * len(text), ""]


def section(catalogue: Catalogue) -> Iterable[str]:
    """Every member of one catalogue, with its docstring."""
    yield from heading(catalogue.kind.capitalize(), "-")
    for name in catalogue:
        member = catalogue[name]
        yield from heading(f"``{name}``", "~")
        yield from (f".. autoclass:: {member.__module__}.{member.__qualname__}", "")


def page() -> str:
    """The page in reStructuredText."""
    lines = [
        *heading("Named choices", "="),
        "Each is written as ``name`` or ``name:key=value``.",
        "",
    ]
    for catalogue in CATALOGUES:
        lines += section(catalogue)
    return "\n".join(lines)
