"""What arXiv:2510.03272 states of its diffusion layer, beside what this run found."""

__all__ = ["diffuse_notes"]

from collections.abc import Mapping, Sequence

from vlasov.experiments.diffuse_config import DiffuseConfig
from vlasov.experiments.report import Table

_PRINTED = 0.01  # the last digit that the paper prints


def diffuse_notes(
    config: DiffuseConfig, result: Mapping[str, float], tables: Mapping[str, Table]
) -> tuple[str, ...]:
    """One sentence for each statement: holds or does not hold, with the numbers."""
    return (
        *_of_stability(config, result),
        *_of_strides(result),
        _energy_note(tables["energy"]),
        _bands_note(tables["bands"]),
        _kernel_note(tables["kernel"]),
    )


def _of_stability(config: DiffuseConfig, result: Mapping[str, float]) -> tuple[str, ...]:
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
            result["paper_stable_alpha"] >= 0.5,
            f"stable to {result['paper_stable_alpha']:.4f} only; at 1/2 a step multiplies by up "
            f"to {result['paper_growth']:.3f}. Weights of sum 1, as here, are stable below 1/2",
        ),
    )


def _of_strides(result: Mapping[str, float]) -> tuple[str, ...]:
    return (
        _said(
            "strided stencils keep the mean",
            result["column_error"] < 1e-12,
            f"columns of this step sum to 1 within {result['column_error']:.3g}",
        ),
        _said(
            "larger strides keep the low frequencies only",
            result["least_alias"] < 0.5,
            f"of the highest one strides 2 and 4 keep {result['least_alias']:.3g}",
        ),
        _said(
            "no mode changes its sign",
            result["lowest_response"] >= 0,
            f"the response of this step goes down to {result['lowest_response']:.3g}",
        ),
    )


def _kernel_note(table: Table) -> str:
    kernel, inverse, exponential = (
        _fallen(table, name) for name in ("kernel at t=1", "1/r", "exp(-r)")
    )
    return _said(
        "the kernel falls as 1/r",
        kernel > 0.5 * inverse,
        f"from r = 5 to 20 it falls to {kernel:.1e} of itself, 1/r to {inverse:.2g} and exp(-r) "
        f"to {exponential:.1e}",
    )


def _bands_note(table: Table) -> str:
    rows = {(row[0], row[1]): [float(cell or 0.0) for cell in row[2:]] for row in table.rows}
    printed = {name: means for (name, source), means in rows.items() if source == "paper"}
    error = max(_apart(means, rows[name, "ours"]) for name, means in printed.items())
    found = f"its rows are up to {error:.2f} from the means of |H|"
    if "h=1" in printed:
        turned = _apart(printed["h=1"][::-1], rows["h=1", "alpha left out"])
        found += f"; the first, read from high to low, is that without alpha to {turned:.2f}"
    return _said("Table 16 is the energy of the bands", error < _PRINTED, found)


def _apart(one: Sequence[float], other: Sequence[float]) -> float:
    return max(abs(a - b) for a, b in zip(one, other, strict=True))


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


def _fallen(table: Table, name: str) -> float:
    heat = dict(zip(table.column("r"), table.column(name), strict=True))
    return float(heat[20] or 0.0) / float(heat[5] or 1.0)
