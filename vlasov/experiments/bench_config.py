"""The settings of `vlasov bench`."""

__all__ = ["BenchConfig"]

from dataclasses import dataclass

from vlasov.engines.certified_engine import require_tolerance
from vlasov.errors import InvalidValue
from vlasov.experiments.bench_clouds import CLOUDS
from vlasov.experiments.settings import choice, option


@dataclass(frozen=True)
class BenchConfig:
    """What is timed.

    Raises:
        UnknownName: for an unknown cloud or number format.
        InvalidValue: for a number outside its range.
    """

    calibrate: bool = option(
        False,
        "First measure what the engines cost on this machine (minutes) and keep the table in the "
        "user's cache folder, where 'auto' reads it.",
    )
    n: tuple[int, ...] = option(
        (100, 300, 1000, 3000, 10_000, 30_000, 100_000), "Numbers of tokens, as 1000,10000."
    )
    d: int = option(2, "Width of the tokens.")
    cloud: str = option("ball", f"Where the tokens lie: {', '.join(CLOUDS)}.")
    radius: tuple[float, ...] = option((4.0,), "Largest scores, as 1,50.")
    tolerance: float = option(1e-8, "Tolerance of the certified engines.")
    dtype: str = option("float64", "Number format: float64 or float32.")
    limit: float = option(5.0, "Leave out engines that would take more than so many seconds.")
    seed: int = option(0, "Seed of the cloud.")
    device: str = option("cpu", "Device; engines are timed on the CPU only.")
    threads: int | None = option(None, "Threads. Default: those of torch.")

    def __post_init__(self) -> None:
        choice(self.cloud, CLOUDS, name="cloud")
        choice(self.dtype, ("float32", "float64"), name="dtype")
        choice(self.device, ("cpu",), name="device of bench")
        require_tolerance("tree", self.tolerance)
        positive = {"d": self.d, "limit": self.limit}
        positive |= {"n": min(self.n, default=0), "radius": min(self.radius, default=0)}
        positive["threads"] = 1 if self.threads is None else self.threads
        for name, value in positive.items():
            if not value > 0:
                raise InvalidValue(f"'{name}' must be above 0 but is {value}.")
