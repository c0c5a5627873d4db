"""The experiment behind `vlasov diffuse`: what one diffusion step along positions does."""

__all__ = ["DIFFUSE"]

import math

import torch
from torch import Tensor

from vlasov.experiments.diffuse_config import DiffuseConfig
from vlasov.experiments.diffuse_notes import diffuse_notes
from vlasov.experiments.diffuse_tables import (
    bands_table,
    energy_table,
    kernel_table,
    responses,
    spectrum_table,
)
from vlasov.experiments.experiment import Context, Experiment, Job
from vlasov.experiments.report import Report, Table
from vlasov.transformer.diffusion_analysis import response, stable_alpha, step_matrix
from vlasov.transformer.heat_steps import Stencil

_LONG = (2, 4)
_PAPER = ((1, 2, 4), (1.0, 0.6, 0.3))


def _prepared(config: DiffuseConfig) -> Job:
    def job(context: Context) -> Report:
        arrays = responses(config)
        tables = {
            "spectrum": spectrum_table(config.length),
            "bands": bands_table(config),
            "energy": energy_table(config),
            "kernel": kernel_table(),
        }
        numbers = _numbers(config, arrays["mixture"], tables["spectrum"])
        context.watch.progress(1.0)
        result = {"status": "finished", "message": _described(config), **numbers}
        return Report(result, tables, arrays, diffuse_notes(config, numbers, tables))

    return job


def _numbers(config: DiffuseConfig, mixture: Tensor, spectrum: Table) -> dict[str, float]:
    stencil = Stencil(config.scales, conservative=config.conservative)
    step = step_matrix(config.length, config.rates, stencil)
    errors = [abs(float(found or 0.0)) for found in spectrum.column("difference")]
    omega = torch.linspace(0.0, math.pi, 10_001, dtype=torch.float64)
    paper = response(omega, *_PAPER)
    return {
        "sum_of_rates": sum(config.rates),
        "largest_eigenvalue": float(torch.linalg.eigvals(step).abs().max()),
        "largest_stable_alpha": stable_alpha(config.length),
        "lowest_response": float(mixture.min()),
        "least_alias": min(float(response(omega[-1:], [h], [config.alpha]).abs()) for h in _LONG),
        "column_error": float((step.sum(0) - 1).abs().max()),
        "spectrum_error": max(errors),
        "paper_stable_alpha": 2 / float((1 - paper).max()),
        "paper_growth": float((1 - 0.5 * (1 - paper)).abs().max()),
    }


def _described(config: DiffuseConfig) -> str:
    shares = " : ".join(f"{share:.3g}" for share in config.diffusion().shares)
    ends = "conservative" if config.conservative else "replicated"
    return f"strides {config.scales} in shares {shares}, alpha {config.alpha:g}, {ends} ends"


DIFFUSE = Experiment("diffuse", DiffuseConfig, _prepared)
"""One diffusion step, taken apart."""
