"""The settings of a convergence study."""

__all__ = ["REFERENCES", "ConvergeConfig", "check_converge_config"]

import math
from dataclasses import dataclass
from itertools import pairwise

from vlasov.errors import InvalidValue
from vlasov.experiments.cloud_checks import check_device
from vlasov.experiments.equation_config import EquationConfig
from vlasov.experiments.settings import choice, option

REFERENCES = ("auto", "flow", "quantised")


@dataclass(frozen=True)
class ConvergeConfig(EquationConfig):
    """Every choice of `vlasov converge`, flat, in words and numbers.

    Raises:
        UnknownName: for a word that is none of the choices.
        InvalidValue: for a number outside its range.
    """

    d: int = option(2, "Width of a token.")
    cov: tuple[float, ...] = option(
        (),
        "Covariance of a gaussian law: its diagonal, or all entries row by row. "
        "Default: 0.25 times the identity.",
    )
    ns: tuple[int, ...] = option((100, 200, 400, 800, 1600), "Numbers of tokens, as 100,200,400.")
    seeds: tuple[int, ...] = option(
        (200,), "Clouds of each number of tokens: one for all, or as many as --ns holds."
    )
    law: str | None = option(
        None,
        "Law of a token at the start: gaussian (with --mean and --cov), ball:radius=1, "
        "cube:radius=1, sphere, von-mises:concentration=1 (on the circle). "
        "Default: gaussian; on a sphere, sphere.",
    )
    geometry: str = option("euclid", "Where tokens live: euclid, sphere:radius=1.")
    time: float = option(0.5, "Time of the comparison, in layers times step.")
    step: float = option(0.1, "Size of a time step of the clouds.")
    integrator: str = option("rk4", "Method for fixed steps: euler, heun, rk4, dopri5, ...")
    engine: str = option(
        "auto",
        "How sums are evaluated: auto, tree:tolerance=1e-8, monomials, direct, fused, tiled, "
        "dense, rbm:p=2.",
    )
    reference: str = option(
        "auto",
        "The limit: flow (the affine flow of a Gaussian law), quantised (a large cloud of evenly "
        "placed tokens), or auto, which takes the flow where there is one.",
    )
    reference_size: int = option(4096, "Tokens of a quantised reference.")
    groups: int = option(
        4, "Under a mask: positions 0, 1, ..., each with as many tokens, in clouds and limit."
    )
    p: float = option(1.0, "Exponent of the Wasserstein distance.")
    distance_seeds: int = option(
        20,
        "Clouds of each number of tokens for which a transport problem is solved; on the line "
        "all clouds are sorted.",
    )

    def __post_init__(self) -> None:
        check_converge_config(self)

    def clouds(self, n: int) -> int:
        """The number of clouds of n tokens."""
        return self.seeds[0] if len(self.seeds) == 1 else self.seeds[self.ns.index(n)]


def check_converge_config(config: ConvergeConfig) -> None:
    """Refuse settings out of range.

    Raises:
        InvalidValue: naming the setting, what it may be, and what was found.
        UnknownName: for an unknown word, with the nearest one.
    """
    choice(config.reference, REFERENCES, name="reference")
    if config.dtype is not None:
        choice(config.dtype, ("float64", "float32"), name="dtype")
    _sizes(config)
    for name, least in (("d", 1), ("heads", 1), ("groups", 1), ("distance_seeds", 2),
                        ("reference_size", 2)):  # fmt: skip
        value = getattr(config, name)
        if value < least:
            raise InvalidValue(
                f"'{_flag(name)}' must be at least {least} but is {value}. Raise it."
            )
    for name in ("time", "step"):
        if not getattr(config, name) > 0:
            raise InvalidValue(f"'{name}' must be above 0 but is {getattr(config, name)}.")
    if not (math.isfinite(config.p) and config.p >= 1):
        raise InvalidValue(f"'p' must be at least 1 but is {config.p}. Use 1 or 2.")
    if config.noise is not None:
        raise InvalidValue("'noise' has no coupling with its limit here. Drop it.")
    check_device(config.device)


def _sizes(config: ConvergeConfig) -> None:
    ns, seeds = config.ns, config.seeds
    if len(ns) < 2 or any(b <= a for a, b in pairwise(ns)) or ns[0] < 2:
        raise InvalidValue(
            f"'ns' takes two or more rising numbers from 2 on but got {','.join(map(str, ns))}. "
            "Write 100,200,400."
        )
    if len(seeds) not in (1, len(ns)) or min(seeds) < 2:
        raise InvalidValue(
            f"'seeds' takes one number from 2 on, or one for each of the {len(ns)} 'ns', but got "
            f"{','.join(map(str, seeds))}. Write 200."
        )
    if config.groups < 1:
        raise InvalidValue(f"'groups' must be at least 1 but is {config.groups}. Raise it.")
    if config.mask is not None:
        uneven = [n for n in ns if n % config.groups]
        if uneven:
            raise InvalidValue(
                f"Under a mask every position holds as many tokens, but {uneven[0]} is no "
                f"multiple of groups = {config.groups}. Choose multiples."
            )


def _flag(name: str) -> str:
    return name.replace("_", "-")
