"""The equation that settings describe."""

__all__ = ["equation_of"]

from vlasov.experiments.cloud_maps import chosen_projections
from vlasov.experiments.equation_config import EquationConfig
from vlasov.pde import TransformerPDE


def equation_of(
    config: EquationConfig, *, geometry: str = "euclid", engine: str = "auto"
) -> TransformerPDE:
    """The equation of the settings for tokens of their width; beta is 1 where none is given.

    Raises:
        VlasovError: for a name or a map that does not exist.
    """
    return TransformerPDE(
        config.attention,
        chosen_projections(config, config.d),
        beta=1.0 if config.beta is None else config.beta,
        geometry=geometry,
        engine=engine,
        mask=config.mask,
        terms=config.terms,
        noise=config.noise,
    )
