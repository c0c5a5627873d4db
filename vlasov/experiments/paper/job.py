"""A figure of the paper as the job of `vlasov reduce`."""

__all__ = ["figure_job"]

import dataclasses

from vlasov.errors import InvalidValue
from vlasov.experiments.experiment import Job
from vlasov.experiments.paper.figures import FIGURES, figure_report
from vlasov.experiments.paper.request import Request
from vlasov.experiments.reduce_config import ReduceConfig
from vlasov.experiments.settings import choice

_OWN = ("figure", "as_published", "seed")


def figure_job(config: ReduceConfig) -> Job:
    """The job of the figure that the settings name.

    Raises:
        UnknownName: for an unknown figure.
        InvalidValue: for settings that a figure makes itself.
    """
    name = config.figure or ""
    choice(name, FIGURES, name="figure")
    set_too = [
        field.name.replace("_", "-")
        for field in dataclasses.fields(config)
        if field.name not in _OWN and getattr(config, field.name) != field.default
    ]
    if set_too:
        raise InvalidValue(
            f"Figure '{name}' has an equation and starts of its own but --{set_too[0]} is set "
            "too. Leave one of the two out."
        )
    return lambda context: figure_report(
        name, Request(seed=config.seed, as_published=config.as_published, context=context)
    )
