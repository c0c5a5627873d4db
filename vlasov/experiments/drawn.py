"""Tokens drawn from the law that settings name."""

__all__ = ["drawn_cloud"]

from vlasov.cloud import Cloud
from vlasov.errors import InvalidValue
from vlasov.experiments.equation_config import EquationConfig, gaussian_law
from vlasov.experiments.starts import STARTS, Gaussian


def drawn_cloud(config: EquationConfig, *, init: str | None, n: int) -> Cloud:
    """About `n` tokens of the law `init`, by default gaussian with the mean and cov of `config`.

    Raises:
        UnknownName: for an unknown law.
        InvalidValue: for a mean or a covariance beside another law.
    """
    start = STARTS.build(init or "gaussian")
    if not config.mean and not config.cov:
        return start.cloud(n, config.d, config.seed)
    if not isinstance(start, Gaussian):
        raise InvalidValue(f"'mean' and 'cov' belong to a gaussian start, not to '{start.name}'.")
    law = gaussian_law(config, std=start.std)
    return Cloud.gaussian(n, law.mean, law.cov, seed=config.seed)
