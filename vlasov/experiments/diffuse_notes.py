"""What arXiv:2510.03272 states of its diffusion layer, beside what this run found."""

__all__ = ["diffuse_notes"]

from collections.abc import Mapping

from vlasov.experiments.diffuse_config import DiffuseConfig
from vlasov.experiments.report import Table


def diffuse_notes(
    config: DiffuseConfig, result: Mapping[str, float], tables: Mapping[str, Table]
) -> tuple[str, ...]:
    """One sentence for each statement: holds or does not hold, with the numbers."""
    return (
        _said(
            "the eigenvalues of the stencil of scale 1 are -4 sin^2(pi k/2L)",
            result["spectrum_error"] < 1e-12,
            f"largest difference {result['spectrum_error']:.1e}",
        ),
        _said(
            "scale 1 is stable below alpha = 1/2",
            result["largest_stable_alpha"] > 0.5,
            f"stable to {result['largest_stable_alpha']:.6f} at {config.length} tokens",
        ),
        _said(
            "alpha below 1/2 for every scale is enough with weights 1 : 0.6 : 0.3",
            False,
            f"stable to {result['paper_stable_alpha']:.4f} only; at 1/2 a step multiplies by up "
            f"to {result['paper_growth']:.3f}. Weights of sum 1, as here, are stable below 1/2",
        ),
        _said(
            "strided stencils keep the mean",
            result["column_error"] < 1e-12,
            f"columns of this step sum to 1 within {result['column_error']:.3g}",
        ),
        _said(
            "larger strides keep the low frequencies only",
            False,
            "|H_2(pi)| = |H_4(pi)| = 1 whatever alpha is",
        ),
        _said(
            "no mode changes its sign",
            result["lowest_response"] >= 0,
            f"the response of this step goes down to {result['lowest_response']:.3g}",
        ),
        _energy_note(tables["energy"]),
        _said(
            "Table 16 is the energy of the bands",
            False,
            "its first row is the mean of |1 - 4 sin^2| without alpha, read from high to low; "
            "the other rows are not what any response here gives",
        ),
        _said(
            "the kernel falls as 1/r",
            False,
            f"from r = 5 to 20 it falls to {_fallen(tables['kernel']):.1e} of itself, 1/r to 0.25 "
            "and exp(-r) to 3.1e-07",
        ),
    )


def _said(statement: str, holds: bool, found: str) -> str:
    return f"{'Holds' if holds else 'Does not hold'}: {statement} ({found})."


def _energy_note(table: Table) -> str:
    last = dict(zip(table.columns, table.rows[-1], strict=True))
    first = dict(zip(table.columns, table.rows[0], strict=True))
    shares = {
        name: float(last[name] or 0.0) / float(first[name] or 1.0)
        for name in ("alternating", "alternating, norm")
    }
    return _said(
        "a LayerNorm after each step leaves the decay of the energy as it is",
        shares["alternating, norm"] <= 2 * shares["alternating"],
        f"of alternating tokens {shares['alternating, norm']:.3g} of it is left with the norm and "
        f"{shares['alternating']:.3g} without",
    )


def _fallen(table: Table) -> float:
    kernel = dict(zip(table.column("r"), table.column("kernel at t=1"), strict=True))
    return float(kernel[20] or 0.0) / float(kernel[5] or 1.0)
