"""The settings of `vlasov energy`; their defaults are clusters forming on the sphere."""

__all__ = ["EnergyConfig"]

from dataclasses import dataclass

from vlasov.errors import InvalidValue
from vlasov.experiments.cloud_checks import check_device
from vlasov.experiments.equation_config import EquationConfig
from vlasov.experiments.settings import choice, option


@dataclass(frozen=True)
class EnergyConfig(EquationConfig):
    """Every choice of `vlasov energy`, flat, in words and numbers.

    Raises:
        UnknownName: for an unknown number format.
        InvalidValue: for a number outside its range.
    """

    beta: float | None = option(
        None, "Inverse temperature of the scores, of any sign. Default: 1, on the sphere too."
    )
    dtype: str | None = option(None, "Number format: float64, float32. Default: float64.")
    n: int = option(200, "Number of tokens to draw.")
    init: str | None = option(
        None,
        "Law of the tokens at the start: gaussian, sphere, ball, mixture:clusters=4,spread=0.3, "
        "hermite:nodes=8, quantiles. Default: sphere on the sphere, gaussian elsewhere.",
    )
    geometry: str = option("sphere", "Where tokens live: euclid, sphere:radius=1.")
    engine: str = option(
        "auto",
        "How sums are evaluated: auto, tree:tolerance=1e-8, monomials, direct, fused, tiled, "
        "dense.",
    )
    time: float = option(10.0, "End time, in layers times step.")
    step: float = option(0.05, "Size of a time step.")
    integrator: str = option("rk4", "Method of fixed steps: euler, heun, rk4, dopri5, ...")
    frames: int = option(51, "Evenly spaced times at which the energy is looked at.")
    probe: bool = option(
        False,
        "Watch the functional of the attention also where the equation is no gradient flow of it.",
    )
    convexity: bool = option(
        False, "Look for contradictions to convexity: recipes along the run, and midpoints."
    )
    draws: int = option(400, "Random geodesics of each midpoint probe.")

    def __post_init__(self) -> None:
        for name, least in (("n", 1), ("d", 1), ("heads", 1), ("frames", 2), ("draws", 1)):
            if getattr(self, name) < least:
                raise InvalidValue(
                    f"'{name}' must be at least {least} but is {getattr(self, name)}. Raise it."
                )
        for name in ("time", "step"):
            if not getattr(self, name) > 0:
                raise InvalidValue(
                    f"'{name}' must be above 0 but is {getattr(self, name)}. Give a positive "
                    "number."
                )
        if self.dtype is not None:
            choice(self.dtype, ("float64", "float32"), name="dtype")
        check_device(self.device)
