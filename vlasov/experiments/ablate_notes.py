"""What an ablation says beside its numbers: thresholds, limits, and how distances were taken."""

__all__ = ["AGREE", "ablate_notes"]

from collections.abc import Iterator

from torch import Tensor

from vlasov.experiments.ablate_bands import band_of
from vlasov.experiments.ablate_config import AblateConfig
from vlasov.experiments.ablate_flow import Switches
from vlasov.experiments.ablate_network import Source
from vlasov.experiments.ablate_tables import Grid
from vlasov.experiments.ablate_verdicts import thresholds
from vlasov.transformer.state_distances import MOST_TOKENS

AGREE = 0.95
"""Cosine between the limits of all and of half the small steps from which on a limit is known."""


def ablate_notes(
    config: AblateConfig, source: Source, switches: Switches | None, grid: Grid
) -> tuple[str, ...]:
    """The sentences of the report."""
    return tuple(_sentences(config, source, switches, grid))


def _sentences(
    config: AblateConfig, source: Source, switches: Switches | None, grid: Grid
) -> Iterator[str]:
    yield thresholds()
    yield (
        f"Norms, gradients, update ratios, w2_step and rank_one_distance are geometric means, "
        f"the rest means, over {source.described}; bands are 95 % intervals of these."
    )
    if switches is not None:
        yield (
            f"PDE: the continuous system of {' + '.join(config.pde)} with the same weights, no "
            f"norms, and one unit of time per layer, in {config.substeps} Runge-Kutta steps each."
        )
    yield "W2 is over the size of the cloud that it is measured from."
    yield from _limits(config, grid)
    if any(not case.has_limit for case in grid if not case.is_flow):
        yield (
            "Without residual connections there is no continuous limit: x <- dt F(x) tends to 0 "
            "with dt (V52). Those networks are maps of unit step."
        )
    if not any(
        bool(found["energy"].isfinite().any()) for found in grid.values() if "energy" in found
    ):
        yield "No layer descends a known energy: its maps have no gradient structure."
    if max(source.lengths) > MOST_TOKENS:
        yield f"W2 is taken between {MOST_TOKENS} of the tokens, evenly spaced: an estimate."


def _limits(config: AblateConfig, grid: Grid) -> Iterator[str]:
    """How far the limits of small steps are known."""
    known = [
        _resolved(found["limit_agreement"])
        for found in grid.values()
        if "limit_agreement" in found
    ]
    if known:
        yield (
            f"The limit of a network has {config.substeps} small steps per layer. Limits and PDEs "
            f"agree with those of half as many, at a cosine of {AGREE:g}, up to layer "
            f"{min(known)} in the worst network and {max(known)} in the best; beyond, distances "
            "from them are not known and not drawn. Raise --substeps for more."
        )


def _resolved(agreement: Tensor) -> int:
    """The last layer up to which the mean over seeds agrees."""
    kept = (band_of("limit_agreement", agreement).mean >= AGREE).int().cumprod(0)
    return int(kept.sum()) - 1
