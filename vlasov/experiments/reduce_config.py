"""The settings of `vlasov reduce`; their defaults are a covariance that blows up along a line."""

__all__ = ["ReduceConfig", "check_reduction", "with_saddle"]

import dataclasses
from dataclasses import dataclass
from typing import TypeVar

from vlasov.errors import InvalidValue
from vlasov.experiments.cloud_checks import check_device
from vlasov.experiments.equation_config import EquationConfig
from vlasov.experiments.settings import choice, option

Config = TypeVar("Config", bound=EquationConfig)

_SADDLE = "saddle"


@dataclass(frozen=True)
class ReduceConfig(EquationConfig):
    """Every choice of `vlasov reduce`, flat, in words and numbers.

    Raises:
        UnknownName: for an unknown word.
        InvalidValue: for a number outside its range.
    """

    d: int = option(2, "Width of a token.")
    query: str = option(
        _SADDLE,
        "Query map: saddle (with an identity key map the law grows along one line and shrinks "
        "across it), identity, negative-identity, a factor of the identity, a matrix as 1,0;0,1, "
        "random, or a file (.npy, .pt).",
    )
    beta: float | None = option(None, "Inverse temperature of the scores, any sign. Default: 1.")
    dtype: str | None = option(None, "Number format: float64, float32. Default: float64.")
    time: float = option(2.0, "End time, in layers times step.")
    step: str | float = option("adaptive", "Size of a time step, or adaptive.")
    integrator: str | None = option(
        None, "Method. Default: dop853 for adaptive steps, rk4 for fixed ones."
    )
    rtol: float = option(1e-9, "Relative tolerance of adaptive steps.")
    atol: float = option(1e-12, "Absolute tolerance of adaptive steps.")
    max_steps: int | None = option(None, "End the run after this many steps.")
    frames: int | None = option(
        None,
        "Evenly spaced times of the table. Default: 101, and past time 20 even in log(1 + t).",
    )
    save_at: tuple[float, ...] = option((), "Times of the table, as 0,0.5,1, in their place.")
    positions: str | None = option(
        None,
        "independent: the law of a token does not depend on its position, so a mask changes "
        "nothing. Without it a mask is refused.",
    )
    threshold: float = option(1e8, "Growth of the trace at which the run ends as divergent.")
    exact: bool = option(
        False, "Print the closed form beside, and the largest difference; refused without one."
    )

    figure: str | None = option(
        None,
        "Compute a figure of Castin, Ablin, Carrillo and Peyré (2025) instead: to-zero, to-line, "
        "to-plane, two-lines, blow-up, mixed, ranks, ellipses. Only --seed and --as-published "
        "change it.",
    )
    as_published: bool = option(
        False, "With --figure: scale scores, and count ranks, as the scripts of the paper do."
    )

    def __post_init__(self) -> None:
        if self.as_published and self.figure is None:
            raise InvalidValue("'as-published' is the scale of a figure. Name one with --figure.")
        check_reduction(self, positive=("time", "rtol"), counts=(("frames", 2), ("max_steps", 1)))
        if self.save_at and self.frames is not None:
            raise InvalidValue("'frames' and 'save-at' exclude each other. Keep one of them.")
        if not self.atol >= 0:
            raise InvalidValue(f"'atol' must not be negative but is {self.atol}. Give 0 or more.")


def check_reduction(
    config: EquationConfig, *, positive: tuple[str, ...], counts: tuple[tuple[str, int], ...]
) -> None:
    """Refuse sizes, numbers, formats and devices out of range.

    Args:
        config: the settings.
        positive: names of numbers above zero.
        counts: names of whole numbers with the least of each.

    Raises:
        UnknownName: for an unknown number format.
        InvalidValue: for a number outside its range, or a device that is not there.
    """
    for name, least in (("d", 1), ("heads", 1), ("key_width", 1), *counts):
        value = getattr(config, name)
        if value is not None and value < least:
            raise InvalidValue(
                f"'{name.replace('_', '-')}' must be at least {least} but is {value}. Raise it."
            )
    for name in positive:
        value = getattr(config, name)
        if not value > 0:
            raise InvalidValue(
                f"'{name.replace('_', '-')}' must be above 0 but is {value}. Give a positive "
                "number."
            )
    if config.dtype is not None:
        choice(config.dtype, ("float64", "float32"), name="dtype")
    check_device(config.device)


def with_saddle(config: Config) -> Config:
    """The settings with the word saddle written out as a matrix of their width.

    Its symmetric part has one positive eigenvalue, along a line oblique to the axes.
    """
    if config.query != _SADDLE:
        return config
    rows = [[-1.0 if i == j else 0.0 for j in range(config.d)] for i in range(config.d)]
    rows[0][:2] = [0.5, 0.8][: config.d]
    written = ";".join(",".join(f"{entry:g}" for entry in row) for row in rows)
    return dataclasses.replace(config, query=written if config.d > 1 else "0.5")
