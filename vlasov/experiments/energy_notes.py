"""What a run says about its energy, in sentences."""

__all__ = ["energy_notes"]

import torch

from vlasov.energies.gradient_flow import GradientFlow
from vlasov.experiments.energy_convexity import Convexity
from vlasov.experiments.energy_path import EnergyPath

_AGREES = 1e-6  # of the largest D, up to which differences count as equal


def energy_notes(
    path: EnergyPath, flow: GradientFlow, refusal: str | None, convexity: Convexity | None
) -> tuple[str, ...]:
    """The verdict, the balance, the metric, and what was found on convexity."""
    notes = [_monotone(path), _balance(path)]
    if refusal is None:
        notes.append(_metric(flow))
    else:
        notes.insert(0, f"Only a probe, with B = I: {refusal}")
    if convexity is not None:
        notes += [convexity.sentence, *convexity.left_out]
    return tuple(notes)


def _monotone(path: EnergyPath) -> str:
    ends = f"F goes from {float(path.energy[0]):.6g} to {float(path.energy[-1]):.6g}"
    if path.monotone:
        return f"Monotone: {ends} and never rises."
    return f"Not monotone: {ends} and rises by up to {path.largest_rise:.3g} between two frames."


def _balance(path: EnergyPath) -> str:
    largest = float(path.dissipation.max())
    gap = float(path.gap.max()) / largest if largest > 0 else 0.0
    word = "dF/dt = -D" if gap <= _AGREES else "dF/dt is not -D"
    return f"{word}: differences of F along the flow are off by {gap:.3g} of the largest D."


def _metric(flow: GradientFlow) -> str:
    widths = torch.linalg.eigvalsh(flow.structure.preconditioner.double())
    lowest, highest = float(widths[0]), float(widths[-1])
    mobility = flow.functionals[0].mobility
    if abs(lowest - 1) < _AGREES and abs(highest - 1) < _AGREES:
        known = "B = I"
    else:
        known = f"B with eigenvalues from {lowest:.4g} to {highest:.4g}"
    kind = "W2 in the metric of B" if mobility == "B" else "a distance that depends on the law"
    signs = ", ".join("+" if sign > 0 else "-" for sign in flow.structure.signs.tolist())
    return (
        f"Gradient flow for {kind}: mobility {mobility}, {known}; A symmetric and V = sigma B A "
        f"with sigma {signs}."
    )
