"""The settings of `vlasov distance`."""

__all__ = ["DistanceConfig", "DistanceOptions"]

from dataclasses import dataclass

from vlasov.errors import InvalidValue
from vlasov.experiments.distance_methods import DISTANCES, NEEDS_EPS
from vlasov.experiments.settings import choice, option
from vlasov.geometry import GEOMETRIES
from vlasov.transport.checks import require_exponent


@dataclass(frozen=True)
class DistanceOptions:
    """How the distance is measured.

    Raises:
        UnknownName: for an unknown method, geometry, number format or device.
        InvalidValue: for a number outside its range, or eps where it means nothing.
    """

    p: float = option(2.0, "Exponent of the distance, 1 or more.")
    method: str = option(
        "auto",
        "auto (exact), simplex, paths (exact, by that solver), conditional (exact at each "
        "position), sliced, max-sliced, entropic, debiased, gelbrich.",
    )
    geometry: str = option("euclid", "Where tokens live: euclid, sphere:radius=1 (arc lengths).")
    eps: float | None = option(
        None, "Regularisation of entropic and debiased, in squared units of the points."
    )
    directions: int = option(200, "Directions of sliced, starts of max-sliced.")
    seed: int = option(0, "Seed of the directions.")
    dtype: str = option("float64", "Number format; distances are computed in float64 only.")
    device: str = option("cpu", "Device; distances are computed on the CPU only.")

    def __post_init__(self) -> None:
        choice(self.method, DISTANCES, name="method")
        choice(self.dtype, ("float64",), name="dtype of distances")
        choice(self.device, ("cpu",), name="device of distances")
        GEOMETRIES.build(self.geometry)
        require_exponent(self.p)
        if self.directions < 1:
            raise InvalidValue(f"'directions' must be at least 1 but is {self.directions}.")
        if (self.eps is None) == (self.method in NEEDS_EPS):
            wanted = "needs --eps, as --eps 0.1" if self.eps is None else "takes no --eps; drop it"
            raise InvalidValue(
                f"The method '{self.method}' {wanted} (eps regularises {' and '.join(NEEDS_EPS)})."
            )


@dataclass(frozen=True)
class DistanceConfig(DistanceOptions):
    """How the distance between which laws is measured; see `read_law` for their names."""

    first: str = option("", "The first law.")
    second: str = option("", "The second law.")
