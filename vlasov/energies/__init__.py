"""The energies that gradient-flow equations descend, and how fast they do."""

from vlasov.energies.convexity import convexity_bound, one_token_curvature
from vlasov.energies.covariance import (
    covariance_energy,
    covariance_preconditioner,
    covariance_velocity,
)
from vlasov.energies.energy import Dissipation, Energy, dissipation, energy

__all__ = [
    "Dissipation",
    "Energy",
    "convexity_bound",
    "covariance_energy",
    "covariance_preconditioner",
    "covariance_velocity",
    "dissipation",
    "energy",
    "one_token_curvature",
]
