"""The energies that gradient-flow equations descend, and how fast they do."""

from vlasov.energies.energy import Dissipation, Energy, dissipation, energy

__all__ = ["Dissipation", "Energy", "dissipation", "energy"]
