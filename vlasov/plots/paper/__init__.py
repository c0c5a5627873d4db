"""Pictures of the paper's figures, from their reports."""

from vlasov.plots.paper.pictures import paper_pictures

__all__ = ["paper_pictures"]
