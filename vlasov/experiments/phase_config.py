"""The settings of `vlasov phase`; their defaults are a diagram over the eigenvalues of A."""

__all__ = ["ENSEMBLES", "PhaseConfig"]

from dataclasses import dataclass

from vlasov.errors import InvalidValue
from vlasov.experiments.equation_config import EquationConfig
from vlasov.experiments.phase_axes import PARAMETERS
from vlasov.experiments.reduce_config import check_reduction
from vlasov.experiments.settings import choice, option

ENSEMBLES = ("identity", "gram", "normal")

_NAMES = ", ".join(PARAMETERS)


@dataclass(frozen=True)
class PhaseConfig(EquationConfig):
    """Every choice of `vlasov phase`, flat, in words and numbers.

    Raises:
        UnknownName: for an unknown word.
        InvalidValue: for a number outside its range, or choices that exclude each other.
    """

    d: int = option(2, "Width of a token.")
    beta: float | None = option(None, "Inverse temperature of the scores, any sign. Default: 1.")
    dtype: str | None = option(None, "Number format: float64, float32. Default: float64.")
    x: str | None = option(
        None,
        f"First axis, as beta=-3:3:50, or scale=0.1:10:50:log. Parameters: {_NAMES}. "
        "Default: a1=-2:2, a2=-2:2 at angle=30, v2=0.2, anisotropy=4.",
    )
    y: str | None = option(None, "Second axis, as --x.")
    hold: tuple[str, ...] = option((), "Fixed values of parameters, as angle=30,anisotropy=4.")
    random: int | None = option(
        None, "So many random draws: of the ensemble, or uniform in the ranges of the axes."
    )
    ensemble: str | None = option(
        None,
        "Value maps of random draws: identity, gram (G^T G) or normal; Q, K normal with "
        "A / sqrt(d), covariances G G^T / d. Default for --random without axes: identity.",
    )
    time: float = option(5000.0, "End time, in layers times step.")
    rtol: float = option(1e-6, "Relative tolerance of adaptive steps.")
    max_steps: int = option(3000, "Steps of one system, or of a batch of clouds.")
    speed: float = option(
        1e-6, "Converged: |Sigma'|_F below this, over the trace at the start and per unit of time."
    )
    n: int | None = option(
        None,
        "Follow clouds of this many tokens. Default: the reduction; 64 where there is none.",
    )
    positions: str | None = option(
        None, "independent: the law does not depend on the position, so a mask changes nothing."
    )
    chunk: int = option(250, "Systems that run together; between two, a run can be interrupted.")

    def __post_init__(self) -> None:
        counts = (("random", 1), ("n", 2), ("chunk", 1), ("max_steps", 1))
        check_reduction(self, positive=("time", "rtol", "speed"), counts=counts)
        if self.ensemble is not None:
            choice(self.ensemble, ENSEMBLES, name="ensemble")
            if self.random is None:
                raise InvalidValue("An ensemble is drawn from. Add --random 1000.")
        if self.y is not None and self.x is None:
            raise InvalidValue("A second axis has a first. Give --x, too.")
        if self.n is not None and self.n <= self.d:
            raise InvalidValue(
                f"A cloud with a covariance of full rank has more than {self.d} tokens but got "
                f"{self.n}. Raise --n."
            )
