"""What one diffusion step does: modes, responses, energies and kernel, as tables and arrays."""

__all__ = [
    "ENERGIES",
    "bands_table",
    "energy_table",
    "kernel_table",
    "responses",
    "spectrum_table",
]

import itertools
import math
from functools import partial

import torch
from jaxtyping import Float
from torch import Tensor

from vlasov.experiments.diffuse_config import DiffuseConfig
from vlasov.experiments.report import Cell, Table
from vlasov.transformer import DiffusionLayer
from vlasov.transformer.diffusion_analysis import (
    PAPER_BANDS,
    band_means,
    dirichlet_energy,
    heat_kernel,
    kernel_integral,
    response,
    spectrum,
    step_matrix,
)
from vlasov.transformer.heat_steps import Stencil

ENERGIES = ("alternating", "alternating, norm", "random", "random, norm")
"""The columns of the energy: the tokens at the start, and whether a norm follows each step."""

_DISTANCES = (0, 1, 2, 3, 5, 7, 10, 14, 20, 28, 40, 57, 80)
_LATE = 50.0
_MODES = 33


def spectrum_table(length: int) -> Table:
    """Eigenvalues of the stencil of scale 1 by solving, beside the formula; evenly thinned."""
    laplacian = step_matrix(length, [1.0], Stencil((1,))) - torch.eye(length, dtype=torch.float64)
    found = torch.linalg.eigvalsh(laplacian).flip(0)
    stated = spectrum(length)
    kept = sorted({round(k * (length - 1) / (_MODES - 1)) for k in range(_MODES)})
    rows = [(k, float(found[k]), float(stated[k]), float(found[k] - stated[k])) for k in kept]
    return Table(("mode", "eigenvalue", "-4 sin^2", "difference"), tuple(rows))


def responses(config: DiffuseConfig, samples: int = 512) -> dict[str, Float[Tensor, " w"]]:
    """The response of each scale alone at full strength, and of the mixture."""
    omega = torch.linspace(0.0, math.pi, samples + 1, dtype=torch.float64)
    curves = {f"h={h}": response(omega, [h], [config.alpha]) for h in config.scales}
    return {"omega": omega, **curves, "mixture": response(omega, config.scales, config.rates)}


def bands_table(config: DiffuseConfig) -> Table:
    """Means of the response over the quarters of the frequencies, and what Table 16 prints."""
    full: dict[str, tuple[tuple[int, ...], tuple[float, ...]]]
    full = {f"h={h}": ((h,), (1.0,)) for h in config.scales}
    full["mixture"] = (config.scales, config.diffusion().shares)
    rows: list[tuple[Cell, ...]] = []
    for name, (scales, shares) in full.items():
        for label, strength in (("ours", config.alpha), ("alpha left out", 1.0)):
            rates = [strength * share for share in shares]
            means = band_means(partial(response, scales=scales, rates=rates))
            rows.append((name, label, *means))
        if name in PAPER_BANDS:
            rows.append((name, "paper", *PAPER_BANDS[name]))
    return Table(("response", "source", "low", "mid-low", "mid-high", "high"), tuple(rows))


def energy_table(config: DiffuseConfig) -> Table:
    """The Dirichlet energy after every step, with and without a LayerNorm."""
    generator = torch.Generator().manual_seed(config.seed)
    shape = (config.length, config.width)
    drawn = torch.randn(shape, generator=generator, dtype=torch.float64)
    signs = (-1.0) ** torch.arange(max(shape), dtype=torch.float64)
    starts = (torch.outer(signs[: config.length], signs[: config.width]), drawn)
    columns: dict[str, list[Cell]] = {"step": list(range(config.steps + 1))}
    for name, (x, norm) in zip(ENERGIES, itertools.product(starts, (False, True)), strict=True):
        columns[name] = list(_energies(config, x, norm=norm))
    return Table.of_columns(columns)


@torch.no_grad()
def _energies(config: DiffuseConfig, x: Tensor, *, norm: bool) -> list[float]:
    layer = DiffusionLayer(config.width, config.diffusion(norm=norm)).double()
    layer.reset_parameters()
    energies = [float(dirichlet_energy(x))]
    for _ in range(config.steps):
        x = layer(x)
        energies.append(float(dirichlet_energy(x)))
    return energies


def kernel_table() -> Table:
    """Heat at a distance at time 1 and summed over times, beside the two laws it is said to obey.

    The laws start at the kernel at distance 1.
    """
    start = heat_kernel(1, 1.0)
    rows = [
        (
            r,
            heat_kernel(r, 1.0),
            kernel_integral(r, _LATE),
            start / r if r else None,
            start * math.exp(1 - r),
        )
        for r in _DISTANCES
    ]
    return Table(("r", "kernel at t=1", "integral to t=50", "1/r", "exp(-r)"), tuple(rows))
